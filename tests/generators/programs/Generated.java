// What a Java build has from jakarta.annotation-api.
package javax.annotation;

public @interface Generated {
  String[] value();
  String date() default "";
  String comments() default "";
}
