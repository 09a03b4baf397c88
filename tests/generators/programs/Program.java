import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.CartsApi;
import org.openapitools.client.api.ItemsApi;
import org.openapitools.client.model.*;

/** Calls every operation with the Java client of openapi-generator. */
public class Program {
  static final Map<String, String> ENV = System.getenv();
  static final UUID PROFILE = UUID.fromString(ENV.get("PROFILE"));
  static final ApiClient CLIENT = new ApiClient();
  static ItemsApi items;

  static void check(Object found, Object expected) {
    if (!found.equals(expected)) {
      throw new AssertionError(found + " is not " + expected);
    }
  }

  static String replaced(UUID cart, UUID item, String currency, String tag) throws Exception {
    UpdateCartItem body = new UpdateCartItem().menuKey("DINNER").menuVersion(1)
        .menuItemKey(Long.MAX_VALUE).displayName("Pizza").currency(currency).price(9.95).quantity(2);
    try {
      items.updateItem(ItemsApi.APIUpdateItemRequest.newBuilder().profileKey(PROFILE).cartId(cart)
          .itemId(item).updateCartItem(body).ifMatch(tag).build());
    } catch (ApiException error) {
      ErrorResponse told =
          ApiClient.createDefaultObjectMapper().readValue(error.getResponseBody(), ErrorResponse.class);
      return error.getCode() + " " + told.getNotifications().get(0).getCode();
    }
    return "200";
  }

  static void change(CartsApi carts, UUID cart, ChangeCart body, String tag) throws Exception {
    carts.changeCart(CartsApi.APIChangeCartRequest.newBuilder().profileKey(PROFILE).cartId(cart)
        .changeCart(body).ifMatch(tag).build());
  }

  public static void main(String[] arguments) throws Exception {
    CLIENT.updateBaseUri(ENV.get("BASE_URL"));
    CLIENT.setRequestInterceptor(
        request -> request.header("Authorization", "Bearer " + ENV.get("TOKEN")));
    CartsApi carts = new CartsApi(CLIENT);
    items = new ItemsApi(CLIENT);
    CartItem pizza = new CartItem().menuKey("DINNER").menuVersion(1).menuItemKey(Long.MAX_VALUE)
        .displayName("Pizza").currency("EUR").price(9.95).quantity(2);
    CreateCart body = new CreateCart().partnerKey("DEMO").restaurantKey(1).platform("test")
        .orderingChannel("WEB").fulfilmentChannel("DELIVERY").currency("EUR")
        .items(List.of(pizza));

    UUID cart = carts.createCart(CartsApi.APICreateCartRequest.newBuilder().profileKey(PROFILE)
        .createCart(body).build()).getData().getCartId();
    UUID item = items.addItem(ItemsApi.APIAddItemRequest.newBuilder().profileKey(PROFILE)
        .cartId(cart).cartItem(pizza).build()).getData().getItemId();
    var read = carts.getCartWithHttpInfo(CartsApi.APIGetCartRequest.newBuilder()
        .profileKey(PROFILE).cartId(cart).build());
    check(read.getData().getData().getSubtotal(), 39.8);
    check(read.getData().getData().getItems().get(1).getMenuItemKey(), Long.MAX_VALUE);
    String tag = read.getHeaders().get("etag").get(0);

    check(replaced(cart, item, "EUR", tag), "200");
    check(replaced(cart, item, "USD", "*"), "400 currency_mismatch");
    check(replaced(UUID.randomUUID(), item, "EUR", "*"), "404 cart_not_found");
    check(replaced(cart, item, "EUR", tag), "412 version_mismatch");
    items.changeItem(ItemsApi.APIChangeItemRequest.newBuilder().profileKey(PROFILE).cartId(cart)
        .itemId(item).changeCartItem(new ChangeCartItem().quantity(3)).build());
    change(carts, cart, new ChangeCart().platform("web").note("Ring twice"), "\"4\"");
    // Without openApiNullable, a client sends no null.
    change(carts, cart, new ChangeCart().note(""), "\"5\"");
    Cart changed = carts.getCart(CartsApi.APIGetCartRequest.newBuilder().profileKey(PROFILE)
        .cartId(cart).build()).getData();
    check(changed.getSubtotal(), 49.75);
    check(changed.getPlatform(), "web");
    check(changed.getNote(), "");
    items.removeItem(ItemsApi.APIRemoveItemRequest.newBuilder().profileKey(PROFILE).cartId(cart)
        .itemId(item).build());
    var several = items.addItems(ItemsApi.APIAddItemsRequest.newBuilder().profileKey(PROFILE)
        .cartId(cart).prefer("return=representation")
        .addItems(new AddItems().items(List.of(pizza, pizza))).build()).getData();
    check(several.getCart().getItems().size(), several.getItemIds().size() + 1);
    var kept = new PlacedCartItem().itemId(several.getItemIds().get(0)).menuKey("DINNER")
        .menuVersion(1).menuItemKey(1L).displayName("Pizza").currency("EUR").price(11.0).quantity(2);
    var all = items.replaceItems(ItemsApi.APIReplaceItemsRequest.newBuilder().profileKey(PROFILE)
        .cartId(cart).replaceItems(new ReplaceItems().items(List.of(kept))).build()).getData();
    check(all.getItemIds(), List.of(kept.getItemId()));
    var close = new CloseCart().outcome(CloseCart.OutcomeEnum.CHECKOUT).reference("payment-1");
    var closed = carts.closeCart(CartsApi.APICloseCartRequest.newBuilder().profileKey(PROFILE)
        .cartId(cart).closeCart(close).prefer("return=representation").build()).getData();
    check(closed.getStatus().getValue(), "checkout");
    var reopened = carts.reopenCart(CartsApi.APIReopenCartRequest.newBuilder().profileKey(PROFILE)
        .cartId(cart).build());
    check(String.valueOf(reopened.getData()), "null");
    var listed = carts.listCarts(
        CartsApi.APIListCartsRequest.newBuilder().profileKey(PROFILE).build());
    check(listed.getData().getCarts().get(0).getItemCount(), 1);
    carts.deleteCart(CartsApi.APIDeleteCartRequest.newBuilder().profileKey(PROFILE).cartId(cart)
        .build());
    check(carts.listCarts(CartsApi.APIListCartsRequest.newBuilder().profileKey(PROFILE).build())
        .getData().getCarts(), List.of());
    System.out.println("done");
  }
}
