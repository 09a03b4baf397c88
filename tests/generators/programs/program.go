// Calls every operation with the Go client of openapi-generator.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	. "github.com/GIT_USER_ID/GIT_REPO_ID"
)

func check(found, expected any) {
	if found != expected {
		panic(fmt.Sprintf("%v is not %v", found, expected))
	}
}

// done returns what a call returns, and ends the program if the call was refused.
func done[Answer any](answer *Answer, _ *http.Response, err error) *Answer {
	check(err, nil)
	return answer
}

// refusal returns the first notification of a refused call.
func refusal(err error) Notification {
	return err.(*GenericOpenAPIError).Model().(ErrorResponse).Notifications[0]
}

func main() {
	settings := NewConfiguration()
	settings.Servers = ServerConfigurations{{URL: os.Getenv("BASE_URL")}}
	client, profile := NewAPIClient(settings), os.Getenv("PROFILE")
	ctx := context.WithValue(context.Background(), ContextAccessToken, os.Getenv("TOKEN"))
	carts, items := client.CartsAPI, client.ItemsAPI
	pizza := NewCartItem("DINNER", 1, 1<<62, "Pizza", "EUR", 9.95, 2)
	body := NewCreateCart("DEMO", 1, "test", "WEB", "DELIVERY", "EUR")
	body.Items = []CartItem{*pizza}

	cart := done(carts.CreateCart(ctx, profile).CreateCart(*body).Execute()).Data.CartId
	item := done(items.AddItem(ctx, profile, cart).CartItem(*pizza).Execute()).Data.ItemId
	found, answer, err := carts.GetCart(ctx, profile, cart).Execute()
	read := done(found, answer, err).Data
	check(read.Subtotal, 39.8)
	check(read.Items[1].MenuItemKey, int64(1<<62))
	tag := answer.Header.Get("ETag")

	replaced := func(cart, currency, tag string) string {
		body := UpdateCartItem(*pizza)
		body.Currency = currency
		_, answer, err := items.UpdateItem(ctx, profile, cart, item).UpdateCartItem(body).
			IfMatch(tag).Execute()
		if err == nil {
			return answer.Status
		}
		return *refusal(err).Code.Get()
	}
	check(replaced(cart, "EUR", tag), "200 OK")
	check(replaced(cart, "USD", "*"), "currency_mismatch")
	check(replaced("019aa8c1-5b1e-7c60-9d3f-0b8f6f1e2a34", "EUR", "*"), "cart_not_found")
	check(replaced(cart, "EUR", tag), "version_mismatch")
	dear := *pizza
	dear.Price = 1e10
	_, _, err = items.AddItem(ctx, profile, cart).CartItem(dear).Execute()
	check(refusal(err).AdditionalData.Get().GetLimit(), 9999999999.9999)

	more := ChangeCartItem{Quantity: PtrInt32(3)} // what is not set is not sent
	done(items.ChangeItem(ctx, profile, cart, item).ChangeCartItem(more).Execute())
	noted := ChangeCart{Platform: PtrString("web"), Note: *NewNullableString(PtrString("Ring"))}
	done(carts.ChangeCart(ctx, profile, cart).ChangeCart(noted).IfMatch(`"4"`).Execute())
	silent := ChangeCart{Note: *NewNullableString(nil)}
	done(carts.ChangeCart(ctx, profile, cart).ChangeCart(silent).IfMatch(`"5"`).Execute())
	changed := done(carts.GetCart(ctx, profile, cart).Execute()).Data
	check(changed.Subtotal, 49.75)
	check(changed.Platform, "web")
	check(changed.Note.Get(), (*string)(nil))
	done(items.RemoveItem(ctx, profile, cart, item).Execute())

	several := NewAddItems([]CartItem{*pizza, *pizza})
	added := done(items.AddItems(ctx, profile, cart).AddItems(*several).
		Prefer("return=representation").Execute()).Data
	check(len(added.Cart.Items), 3)
	kept := NewPlacedCartItem("DINNER", 1, 42, "Pizza", "EUR", 11, 2)
	kept.ItemId.Set(&added.ItemIds[0])
	whole := NewReplaceItems([]PlacedCartItem{*kept})
	listed := done(items.ReplaceItems(ctx, profile, cart).ReplaceItems(*whole).Execute())
	check(listed.Data.ItemIds[0], added.ItemIds[0])
	closing := NewCloseCart("checkout")
	closing.Reference.Set(PtrString("payment-1"))
	closed := done(carts.CloseCart(ctx, profile, cart).CloseCart(*closing).
		Prefer("return=representation").Execute())
	check(closed.Data.Status, "checkout")
	check(closed.Data.Subtotal, 22.0)
	done(carts.ReopenCart(ctx, profile, cart).Execute())
	check(len(done(carts.ListCarts(ctx, profile).Execute()).Data.Carts), 1)
	done(carts.DeleteCart(ctx, profile, cart).Execute())
	fmt.Println("done")
}
