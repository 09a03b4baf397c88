from django import template

from carts.admin.slips import amount

register = template.Library()
register.filter(amount)
