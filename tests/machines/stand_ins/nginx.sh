# Each template with the variables that are set, and no others: nginx's own stay.
set -e
names=$(env | sed 's/=.*//; s/.*/${&}/' | tr '\n' ' ')
for template in /etc/nginx/templates/*.template; do
  envsubst "$names" < "$template" > "/etc/nginx/conf.d/$(basename "$template" .template)"
done
exec "$@"
