// An evening at the door, with the client to copy: a cart is made, changed and found again.

import assert from "node:assert/strict";
import { type Cart, CartError, cartClient, done } from "./cart_client.js";

const { BASE_URL, TOKEN, PROFILE } = process.env as Record<string, string>;
const CARTS = "/v2.0/customers/{profileKey}/carts";
const profileKey = PROFILE!;
const phone = cartClient(BASE_URL!, () => TOKEN!);
const tablet = cartClient(BASE_URL!, () => TOKEN!);
const dish = (displayName: string, price: number, quantity = 1) => ({
  menuKey: "DINNER",
  menuVersion: 1,
  menuItemKey: 42,
  displayName,
  currency: "EUR",
  price,
  quantity,
});

const { cartId } = await done(
  phone.POST(CARTS, {
    params: { path: { profileKey } },
    body: {
      partnerKey: "DEMO",
      restaurantKey: 1,
      platform: "app",
      orderingChannel: "APP",
      fulfilmentChannel: "DELIVERY",
      currency: "EUR",
      items: [dish("Pizza", 9.5)],
    },
  }),
);
const path = { profileKey, cartId };

// The calls are made at once, as taps are. They follow each other.
const menu = { items: [dish("Tiramisu", 5), dish("Cola", 5)] };
const [calzone, others] = await Promise.all([
  done(phone.POST(`${CARTS}/{cartId}/items`, { params: { path }, body: dish("Calzone", 5) })),
  done(phone.POST(`${CARTS}/{cartId}/items/batch`, { params: { path }, body: menu })),
]);
const names = others.cart!.items.map((item) => item.displayName);
assert.deepEqual(names, ["Pizza", "Calzone", "Tiramisu", "Cola"]);
const [tiramisu, cola] = others.itemIds;
const item = (itemId?: string) => ({ params: { path: { ...path, itemId: itemId! } } });
const ITEM = `${CARTS}/{cartId}/items/{itemId}` as const;
const [, noted] = await Promise.all([
  done(phone.PATCH(ITEM, { ...item(calzone.itemId), body: { quantity: 2 } })),
  done(phone.PATCH(`${CARTS}/{cartId}`, { params: { path }, body: { note: "Ring twice" } })),
]);
assert.deepEqual([noted!.subtotal, noted!.version, noted!.note], [29.5, 5, "Ring twice"]);

// Another device finds the cart, and changes it.
const query = { restaurantKey: 1, sort: "modified", status: "open", limit: 1 } as const;
const found = await done(tablet.GET(CARTS, { params: { path: { profileKey }, query } }));
assert.equal(found.carts[0]!.cartId, cartId);
const seen: Cart = await done(tablet.GET(`${CARTS}/{cartId}`, { params: { path } }));
assert.deepEqual(seen, noted);
const fewer = await done(tablet.PATCH(ITEM, { ...item(cola), body: { quantity: 3 } }));
assert.equal(fewer!.version, 6);

if (process.env["REFUSALS"]) {
  const code = (call: Promise<unknown>) =>
    call.then(
      () => assert.fail(),
      (error: CartError) => [error.status, error.code, error.facts.field],
    );
  const tap = () => done(phone.PATCH(ITEM, { ...item(cola), body: { quantity: 1 } }));
  assert.deepEqual(await code(tap()), [412, "version_mismatch", "If-Match"]); // the tablet's change
  assert.deepEqual(await code(tap()), [412, "version_mismatch", "If-Match"]);
  await done(phone.GET(`${CARTS}/{cartId}`, { params: { path } })); // it decides anew
  assert.equal((await tap())!.version, 7);
  assert.equal((await done(phone.DELETE(ITEM, item(tiramisu))))!.version, 8);
  const none = phone.PATCH(ITEM, { ...item(cola), body: { quantity: 0 } });
  assert.deepEqual(await code(done(none)), [400, "min_value", "/quantity"]);
  const lost = cartClient("http://127.0.0.1:9", () => TOKEN!);
  const nowhere = done(lost.GET(`${CARTS}/{cartId}`, { params: { path } }));
  assert.deepEqual(await code(nowhere), [0, "unreachable", undefined]);
}
console.log(cartId);
