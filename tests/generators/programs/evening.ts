// An evening with the client to copy: a guest makes a cart, signs in, and finds it on a tablet.

import assert from "node:assert/strict";
import { type Cart, CartError, cartClient, done } from "./cart_client.js";

const { BASE_URL, TOKEN, PROFILE } = process.env as Record<string, string>;
const CARTS = "/v2.0/customers/{profileKey}/carts";
const guest: string = crypto.randomUUID();
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
    params: { path: { profileKey: guest } },
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
let path = { profileKey: guest, cartId };

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

// She signs in. A back end does this with its own token, which joins customers.
const body = { profileKey };
const moved = await done(phone.POST(`${CARTS}/{cartId}/move`, { params: { path }, body }));
assert.deepEqual([moved!.profileKey, moved!.version], [profileKey, 6]);
path = { profileKey, cartId };

// Another device finds the cart, and changes it.
const query = { restaurantKey: 1, sort: "modified", status: "open", limit: 1 } as const;
const found = await done(tablet.GET(CARTS, { params: { path: { profileKey }, query } }));
assert.equal(found.carts[0]!.cartId, cartId);
const seen: Cart = await done(tablet.GET(`${CARTS}/{cartId}`, { params: { path } }));
assert.deepEqual(seen, moved);
const fewer = await done(tablet.PATCH(ITEM, { ...item(cola), body: { quantity: 3 } }));
assert.equal(fewer!.version, 7);

if (process.env["REFUSALS"]) {
  const refusal = (call: Promise<unknown>) =>
    call.then(
      () => assert.fail(),
      (error: CartError) => [error.status, error.code, error.facts],
    );
  const changed = [412, "version_mismatch", { field: "If-Match", version: 7 }];
  const tap = () => done(phone.PATCH(ITEM, { ...item(cola), body: { quantity: 1 } }));
  assert.deepEqual(await refusal(tap()), changed); // by the tablet
  assert.deepEqual(await refusal(tap()), changed); // until it reads the cart
  await done(phone.GET(`${CARTS}/{cartId}`, { params: { path } })); // it decides anew
  assert.equal((await tap())!.version, 8);
  assert.equal((await done(phone.DELETE(ITEM, item(tiramisu))))!.version, 9);
  const none = phone.PATCH(ITEM, { ...item(cola), body: { quantity: 0 } });
  assert.deepEqual(await refusal(done(none)), [400, "min_value", { field: "/quantity", limit: 1 }]);
  const lost = cartClient("http://127.0.0.1:9", () => TOKEN!);
  const nowhere = done(lost.GET(`${CARTS}/{cartId}`, { params: { path } }));
  assert.deepEqual(await refusal(nowhere), [0, "unreachable", {}]);
}
console.log(cartId);
