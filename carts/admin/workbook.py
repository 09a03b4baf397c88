"""The carts of a search as a workbook (.xlsx), to which no text is a formula."""

from datetime import datetime
from decimal import Decimal
from io import BytesIO

from django.http import HttpResponse
from django.utils.timezone import get_current_timezone_name, localdate, localtime, now
from xlsxwriter import Workbook

from carts.admin.formatting import format_amount, format_moment
from carts.admin.search import FindForm, SearchResult

SHEET_COLUMNS = (
    *("id", "profile_key", "created_on", "modified_on", "version", "item_count", "subtotal"),
    *("currency", "restaurant_key", "partner_key", "fulfilment_channel", "ordering_channel"),
    *("platform", "status", "closed_on", "reference", "order_reference", "note"),
    *("special_instructions", "first_items"),
)


def workbook_response(result: SearchResult, form: FindForm) -> HttpResponse:
    """Return the workbook, its times in the viewer's zone, and a sheet about the search."""
    file, zone = BytesIO(), get_current_timezone_name()
    with Workbook(file, {"in_memory": True, "remove_timezone": True}) as book:
        sheet = book.add_worksheet("Carts")
        # The prefix keeps it one when the cell is edited.
        text = book.add_format({"quote_prefix": True})
        moment = book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
        amounts = [
            book.add_format({"num_format": f"#,##0.{'0' * n}".rstrip(".")}) for n in range(5)
        ]
        heads = (name.replace("_", " ").replace(" on", f" on ({zone})") for name in SHEET_COLUMNS)
        sheet.write_row(0, 0, heads, book.add_format({"bold": True}))
        for row, cart in enumerate(result.carts, start=1):
            lines = ", ".join(f"{quantity} × {name}" for quantity, name in vars(cart)["lines"])
            values = {**vars(cart), **cart.state._asdict(), "first_items": lines}
            for column, name in enumerate(SHEET_COLUMNS):
                match value := values[name]:
                    case datetime():
                        sheet.write_datetime(row, column, localtime(value), moment)
                    case Decimal():
                        decimals = len(format_amount(value, cart.currency).partition(".")[2])
                        sheet.write_number(row, column, value, amounts[decimals])
                    case int():
                        sheet.write_number(row, column, value)
                    case _ if value is not None:
                        sheet.write_string(row, column, str(value), text)
        sheet.freeze_panes(1, 0)
        sheet.autofilter(0, 0, len(result.carts), len(SHEET_COLUMNS) - 1)
        about = book.add_worksheet("About")
        held = f"{len(result.carts):,} of {'at least ' if result.more else ''}{result.total:,}"
        searched = [(field.label, field.data) for field in form if field.data]
        facts = [("Carts", held), ("As of", format_moment(now())), *searched]
        for row, (label, fact) in enumerate(facts):
            about.write_string(row, 0, label, text)
            about.write_string(row, 1, fact, text)
        sheet.autofit(max_width=400)
        about.autofit()
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
    name = f'attachment; filename="carts-{localdate()}.xlsx"'
    return HttpResponse(file.getvalue(), kind, headers={"Content-Disposition": name})
