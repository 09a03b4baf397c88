// Calls every operation with the Go client of openapi-generator.
package main

import (
	"context"
	"fmt"
	"math"
	"os"

	"cartclient"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func check(found, expected any) {
	if found != expected {
		panic(fmt.Sprintf("%v is not %v", found, expected))
	}
}

func main() {
	configuration := cartclient.NewConfiguration()
	configuration.Servers = cartclient.ServerConfigurations{{URL: os.Getenv("BASE_URL")}}
	client := cartclient.NewAPIClient(configuration)
	token := os.Getenv("TOKEN")
	bearer := context.WithValue(context.Background(), cartclient.ContextAccessToken, token)
	profile := os.Getenv("PROFILE")
	key := int64(math.MaxInt64)
	pizza := *cartclient.NewCartItem("DINNER", 1, key, "Pizza", cartclient.EUR, 9.95, 2)

	body := *cartclient.NewCreateCart("DEMO", 1, "test", "WEB", "DELIVERY", cartclient.EUR)
	body.SetItems([]cartclient.CartItem{pizza})
	created, _, err := client.CartsAPI.CreateCart(bearer, profile).CreateCart(body).Execute()
	must(err)
	cart := created.Data.CartId
	added, _, err := client.ItemsAPI.AddItem(bearer, profile, cart).CartItem(pizza).Execute()
	must(err)
	item := added.Data.ItemId
	read, response, err := client.CartsAPI.GetCart(bearer, profile, cart).Execute()
	must(err)
	check(read.Data.Subtotal, 39.8)
	check(read.Data.Items[1].MenuItemKey, key)
	tag := response.Header.Get("ETag")

	replaced := func(cart string, currency cartclient.Currency, tag string) string {
		body := *cartclient.NewUpdateCartItem("DINNER", 1, key, "Pizza", currency, 9.95, 2)
		request := client.ItemsAPI.UpdateItem(bearer, profile, cart, item)
		_, response, err := request.UpdateCartItem(body).IfMatch(tag).Execute()
		if err == nil {
			return fmt.Sprint(response.StatusCode)
		}
		refused := err.(*cartclient.GenericOpenAPIError).Model().(cartclient.ErrorResponse)
		return fmt.Sprint(response.StatusCode, " ", *refused.Notifications[0].Code.Get())
	}
	check(replaced(cart, cartclient.EUR, tag), "200")
	check(replaced(cart, cartclient.USD, "*"), "400 currency_mismatch")
	check(replaced(profile, cartclient.EUR, "*"), "404 cart_not_found")
	check(replaced(cart, cartclient.EUR, tag), "412 version_mismatch")
	more := *cartclient.NewChangeCartItem()
	more.SetQuantity(3)
	_, _, err = client.ItemsAPI.ChangeItem(bearer, profile, cart, item).ChangeCartItem(more).Execute()
	must(err)
	change := func(body cartclient.ChangeCart, tag string) {
		request := client.CartsAPI.ChangeCart(bearer, profile, cart)
		_, _, err := request.ChangeCart(body).IfMatch(tag).Execute()
		must(err)
	}
	noted, emptied := *cartclient.NewChangeCart(), *cartclient.NewChangeCart()
	noted.SetPlatform("web")
	noted.SetNote("Ring twice")
	change(noted, "\"4\"")
	emptied.SetNoteNil()
	change(emptied, "\"5\"")
	again, _, err := client.CartsAPI.GetCart(bearer, profile, cart).Execute()
	must(err)
	check(again.Data.Subtotal, 49.75)
	check(again.Data.Platform, "web")
	check(again.Data.Note.Get() == nil, true)
	_, _, err = client.ItemsAPI.RemoveItem(bearer, profile, cart, item).Execute()
	must(err)
	listed, _, err := client.CartsAPI.ListCarts(bearer, profile).Execute()
	must(err)
	check(listed.Data.Carts[0].ItemCount, int32(1))
	_, _, err = client.CartsAPI.DeleteCart(bearer, profile, cart).Execute()
	must(err)
	_, response, _ = client.CartsAPI.GetCart(bearer, profile, cart).Execute()
	check(response.StatusCode, 404)
	fmt.Println("done")
}
