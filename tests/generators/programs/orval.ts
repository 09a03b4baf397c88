// Calls every operation with the client that orval makes for fetch.

import assert from "node:assert/strict";
import * as carts from "./client.js";

const { TOKEN, PROFILE } = process.env as Record<string, string>;
const pizza: carts.CartItem = {
  menuKey: "DINNER",
  menuVersion: 1,
  menuItemKey: 42,
  displayName: "Pizza",
  currency: "EUR",
  price: 9.95,
  quantity: 2,
};
const profile = PROFILE!;

function sent(headers: Record<string, string> = {}): RequestInit {
  return { headers: { Authorization: `Bearer ${TOKEN}`, ...headers } };
}

// Returns the answer of a call, and ends the program if the call was refused.
async function done<Answer extends { status: number }>(call: Promise<Answer>) {
  const answer = await call;
  assert.equal(answer.status, 200);
  return answer as Extract<Answer, { status: 200 }>;
}

const body: carts.CreateCart = {
  partnerKey: "DEMO",
  restaurantKey: 1,
  platform: "test",
  orderingChannel: "WEB",
  fulfilmentChannel: "DELIVERY",
  currency: "EUR",
  items: [pizza],
};
const cart = (await done(carts.createCart(profile, body, sent()))).data.data.cartId;
const item = (await done(carts.addItem(profile, cart, pizza, sent()))).data.data.itemId;
const read = await done(carts.getCart(profile, cart, sent()));
assert.equal(read.data.data.subtotal, 39.8);
const tag = read.headers.get("ETag")!;

async function replaced(cart: string, currency: string, tag: string) {
  const body = { ...pizza, currency };
  const answer = await carts.updateItem(profile, cart, item, body, sent({ "If-Match": tag }));
  return [answer.status, answer.data.notifications[0]?.code];
}

assert.deepEqual(await replaced(cart, "EUR", tag), [200, null]);
assert.deepEqual(await replaced(cart, "USD", "*"), [400, "currency_mismatch"]);
assert.deepEqual(await replaced(crypto.randomUUID(), "EUR", "*"), [404, "cart_not_found"]);
assert.deepEqual(await replaced(cart, "EUR", tag), [412, "version_mismatch"]);
await done(carts.changeItem(profile, cart, item, { quantity: 3 }, sent()));
for (const change of [{ platform: "web", note: "Ring twice" }, { note: null }]) {
  await done(carts.changeCart(profile, cart, change, sent()));
}
const { data: changed } = (await done(carts.getCart(profile, cart, sent()))).data;
assert.deepEqual([changed.subtotal, changed.platform, changed.note], [49.75, "web", null]);
await done(carts.removeItem(profile, cart, item, sent()));
const shown = sent({ Prefer: "return=representation" });
const batch = await done(carts.addItems(profile, cart, { items: [pizza, pizza] }, shown));
assert.equal(batch.data.data.cart!.items.length, 3);
const all = await done(carts.replaceItems(profile, cart, { items: [pizza] }, sent()));
assert.equal(all.data.data.itemIds.length, 1);
const closing = { outcome: "checkout", reference: "payment-1" } as const;
const closed = await done(carts.closeCart(profile, cart, closing, shown));
assert.equal(closed.data.data!.status, "checkout");
await done(carts.reopenCart(profile, cart, undefined, sent()));
const listed = await done(carts.listCarts(profile, undefined, sent()));
assert.deepEqual(listed.data.data.carts.map((one) => one.itemCount), [1]);
await done(carts.deleteCart(profile, cart, sent()));
console.log("done");
