"""The support desk: pages for staff who have a customer on the phone."""

from django.contrib import admin
from django.contrib.auth.models import User

from carts.admin.accounts import AccountAdmin
from carts.admin.desk import CartAdmin
from carts.models import Cart

admin.site.register(Cart, CartAdmin)
admin.site.unregister(User)
admin.site.register(User, AccountAdmin)
