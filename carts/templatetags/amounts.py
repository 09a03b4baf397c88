from django import template

from carts.admin.display import amount

register = template.Library()
register.filter(amount)
