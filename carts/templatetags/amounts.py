from django import template

from carts.admin.formatting import amount, menu_data

register = template.Library()
register.filter(amount)
register.filter(menu_data)
