from django import template

from carts.admin.formatting import amount, each, menu_data

register = template.Library()
register.filter(amount)
register.filter(each)
register.filter(menu_data)
