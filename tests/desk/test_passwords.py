import pytest
from django.contrib.auth.models import User
from django.test import Client

from carts.models import Cart
from tests.desk.conftest import (
    ACCOUNTS,
    CARTS,
    LOGIN,
    MINE,
    PASSWORD,
    add_account,
    correct_page,
    member,
    page_of,
    role,
    sign_in,
)

pytestmark = pytest.mark.usefixtures("cheap_passwords")


def test_an_account_without_a_password_is_not_made(lead: Client) -> None:
    add_account(lead, "carl", role=role("Cart support"), usable_password="false")
    carl = User.objects.get(username="carl")
    assert carl.has_usable_password()
    url = f"{ACCOUNTS}{carl.pk}/password/"
    page = lead.get(url).text
    assert "unset-password" not in page
    lead.post(url, {"usable_password": "false", "unset-password": "1"})
    carl.refresh_from_db()
    assert carl.has_usable_password()


def test_a_password_that_somebody_else_chose_is_changed_first(lead: Client, cart: Cart) -> None:
    add_account(lead, "carl", role=role("Cart support agent"))
    carl, own = Client(), "another horse battery"
    change = "/admin/password_change/"
    for given in (PASSWORD, "as the lead has set it"):
        page = carl.post(LOGIN, {"username": "carl", "password": given}, follow=True)
        assert page.redirect_chain[-1] == (change, 302)
        assert "<h1>Choose a password of your own</h1>" in page.text
        # No page is opened before, and nothing is changed.
        for path in (CARTS, page_of(cart), correct_page(cart), ACCOUNTS, f"{CARTS}channels/"):
            for send in (carl.get, carl.post):
                assert send(path).url.startswith(LOGIN)
        assert carl.get(LOGIN).url == change
        sent = {"old_password": given, "new_password1": given, "new_password2": given}
        assert "This is the password so far." in carl.post(change, sent).text
        again = carl.post(LOGIN, {"username": "carl", "password": given}, follow=True)
        assert again.redirect_chain[-1] == (change, 302)
        sent |= {"new_password1": own, "new_password2": own}
        page = carl.post(change, sent, follow=True)
        assert "Your password was changed." in page.text
        assert page.request["PATH_INFO"] == MINE
        carl.post("/admin/logout/")
        assert sign_in(carl, own, "carl") == 302
        assert carl.get(CARTS).status_code == 200
        # A lead sets another one, which is a first one again, and ends the session.
        url = f"{ACCOUNTS}{User.objects.get(username='carl').pk}/password/"
        own = "one more horse battery"
        lead.post(url, dict.fromkeys(("password1", "password2"), "as the lead has set it"))
        assert carl.get(CARTS).url.startswith(LOGIN)


def test_ones_own_password_is_no_first_one(db: None) -> None:
    anna, client = member("anna", "Cart support lead"), Client()
    sign_in(client)
    url = f"{ACCOUNTS}{anna.pk}/password/"
    client.post(url, dict.fromkeys(("password1", "password2"), "another horse battery"))
    assert client.get(CARTS).status_code == 200
    sign_in(client, "another horse battery")
    assert client.get(CARTS).status_code == 200
