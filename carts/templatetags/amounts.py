from django import template

from carts.admin.formatting import amount

register = template.Library()
register.filter(amount)
