// Calls every operation with the client of hey-api's openapi-ts.

import assert from "node:assert/strict";
import { client } from "./client/client.gen.js";
import * as carts from "./client/sdk.gen.js";
import type { CartItem } from "./client/types.gen.js";

const { BASE_URL, TOKEN, PROFILE } = process.env as Record<string, string>;
client.setConfig({ baseUrl: BASE_URL!, auth: TOKEN! });
const pizza: CartItem = {
  menuKey: "DINNER",
  menuVersion: 1,
  menuItemKey: 42,
  displayName: "Pizza",
  currency: "EUR",
  price: 9.95,
  quantity: 2,
};
const profileKey = PROFILE!;
const throwOnError = true;

const created = await carts.createCart({
  path: { profileKey },
  body: {
    partnerKey: "DEMO",
    restaurantKey: 1,
    platform: "test",
    orderingChannel: "WEB",
    fulfilmentChannel: "DELIVERY",
    currency: "EUR",
    items: [pizza],
  },
  throwOnError,
});
const { cartId } = created.data.data;
const path = { profileKey, cartId };
const added = await carts.addItem({ path, body: pizza, throwOnError });
const { itemId } = added.data.data;
const read = await carts.getCart({ path, throwOnError });
assert.equal(read.data.data.subtotal, 39.8);
const tag = read.response.headers.get("ETag")!;

async function replaced(cartId: string, currency: string, tag: string) {
  const { response, error } = await carts.updateItem({
    path: { profileKey, cartId, itemId },
    headers: { "If-Match": tag },
    body: { ...pizza, currency },
  });
  return [response.status, error?.notifications[0]?.code];
}

assert.deepEqual(await replaced(cartId, "EUR", tag), [200, undefined]);
assert.deepEqual(await replaced(cartId, "USD", "*"), [400, "currency_mismatch"]);
assert.deepEqual(await replaced(crypto.randomUUID(), "EUR", "*"), [404, "cart_not_found"]);
assert.deepEqual(await replaced(cartId, "EUR", tag), [412, "version_mismatch"]);
const ofItem = { ...path, itemId };
await carts.changeItem({ path: ofItem, body: { quantity: 3 }, throwOnError });
for (const body of [{ platform: "web", note: "Ring twice" }, { note: null }]) {
  await carts.changeCart({ path, body, throwOnError });
}
const { data: changed } = (await carts.getCart({ path, throwOnError })).data;
assert.deepEqual([changed.subtotal, changed.platform, changed.note], [49.75, "web", null]);
await carts.removeItem({ path: ofItem, throwOnError });
const headers = { Prefer: "return=representation" };
const batch = await carts.addItems({ path, headers, body: { items: [pizza, pizza] }, throwOnError });
assert.equal(batch.data.data.cart!.items.length, 3);
const all = await carts.replaceItems({ path, body: { items: [pizza] }, throwOnError });
assert.equal(all.data.data.itemIds.length, 1);
const closing = { outcome: "checkout", reference: "payment-1" } as const;
const closed = await carts.closeCart({ path, headers, body: closing, throwOnError });
assert.equal(closed.data.data!.status, "checkout");
await carts.reopenCart({ path, throwOnError });
const listed = await carts.listCarts({ path: { profileKey }, throwOnError });
assert.deepEqual(listed.data.data.carts.map((cart) => cart.itemCount), [1]);
await carts.deleteCart({ path, throwOnError });
console.log("done");
