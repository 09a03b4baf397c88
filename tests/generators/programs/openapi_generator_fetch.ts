// Calls every operation with the typescript-fetch client of openapi-generator.

import assert from "node:assert/strict";
import { CartsApi, Configuration, ItemsApi, ResponseError } from "./client/index.js";
import type { CartItem, CreateCart, ErrorResponse } from "./client/index.js";

const { BASE_URL, TOKEN, PROFILE } = process.env as Record<string, string>;
const configuration = new Configuration({ basePath: BASE_URL!, accessToken: TOKEN! });
const carts = new CartsApi(configuration);
const items = new ItemsApi(configuration);
const profileKey = PROFILE!;
const pizza: CartItem = {
  menuKey: "DINNER",
  menuVersion: 1,
  menuItemKey: 42,
  displayName: "Pizza",
  currency: "EUR",
  price: 9.95,
  quantity: 2,
};

const empty: CreateCart = {
  partnerKey: "DEMO",
  restaurantKey: 1,
  platform: "test",
  orderingChannel: "WEB",
  fulfilmentChannel: "DELIVERY",
  currency: "EUR",
};

const created = await carts.createCart({ profileKey, createCart: { ...empty, items: [pizza] } });
const cartId = created.data.cartId;
const added = await items.addItem({ profileKey, cartId, cartItem: pizza });
const itemId = added.data.itemId;
const read = await carts.getCartRaw({ profileKey, cartId });
const cart = (await read.value()).data;
assert.equal(cart.subtotal, 39.8);
assert.ok(cart.createdOn instanceof Date);
const tag = read.raw.headers.get("ETag")!;

async function replaced(
  cartId: string,
  currency: string,
  ifMatch: string,
): Promise<[number, string | null | undefined]> {
  const updateCartItem = { ...pizza, currency };
  try {
    await items.updateItem({ profileKey, cartId, itemId, updateCartItem, ifMatch });
  } catch (error) {
    assert.ok(error instanceof ResponseError);
    const body = (await error.response.json()) as ErrorResponse;
    return [error.response.status, body.notifications[0]?.code];
  }
  return [200, null];
}

assert.deepEqual(await replaced(cartId, "EUR", tag), [200, null]);
assert.deepEqual(await replaced(cartId, "USD", "*"), [400, "currency_mismatch"]);
assert.deepEqual(await replaced(crypto.randomUUID(), "EUR", "*"), [404, "cart_not_found"]);
assert.deepEqual(await replaced(cartId, "EUR", tag), [412, "version_mismatch"]);
await items.changeItem({ profileKey, cartId, itemId, changeCartItem: { quantity: 3 } });
for (const changeCart of [{ platform: "web", note: "Ring twice" }, { note: null }]) {
  const ifMatch = changeCart.note ? '"4"' : '"5"';
  await carts.changeCart({ profileKey, cartId, changeCart, ifMatch });
}
const changed = (await carts.getCart({ profileKey, cartId })).data;
assert.deepEqual([changed.subtotal, changed.platform, changed.note], [49.75, "web", null]);
await items.removeItem({ profileKey, cartId, itemId });
const batch = { items: [pizza, pizza] };
const prefer = "return=representation";
const several = await items.addItems({ profileKey, cartId, addItems: batch, prefer });
assert.equal(several.data.cart!.items.length, several.data.itemIds.length + 1);
const [kept] = several.data.itemIds;
const whole = { items: [{ ...pizza, itemId: kept, price: 11 }] };
const all = await items.replaceItems({ profileKey, cartId, replaceItems: whole });
assert.deepEqual(all.data.itemIds, [kept]);
const closeCart = { outcome: "checkout", reference: "payment-1" } as const;
const closed = await carts.closeCart({ profileKey, cartId, closeCart, prefer });
assert.deepEqual([closed.data!.status, closed.data!.subtotal], ["checkout", 22]);
await assert.rejects(items.removeItem({ profileKey, cartId, itemId: kept! }));
await carts.reopenCart({ profileKey, cartId, reopenCart: { reference: "payment-1" } });
const listed = await carts.listCarts({ profileKey, status: "open" });
assert.deepEqual(listed.data.carts.map((one) => one.itemCount), [1]);
await carts.deleteCart({ profileKey, cartId });
assert.deepEqual((await carts.listCarts({ profileKey })).data.carts, []);

// An app's evening: a new cart, four taps, an option, what was ordered last time, and the checkout.
let calls = 0;
const pre = async () => void (calls += 1);
const app = { carts: carts.withPreMiddleware(pre), items: items.withPreMiddleware(pre) };
const evening = await app.carts.createCart({ profileKey, createCart: empty });
const mine = { profileKey, cartId: evening.data.cartId };
const eight = await app.items.addItems({ ...mine, addItems: { items: Array(8).fill(pizza) }, prefer });
let shown = eight.data.cart!;
const tapped = eight.data.itemIds[0]!;
for (const quantity of [3, 4, 3, 2]) {
  const tap = { ...mine, itemId: tapped, changeCartItem: { quantity }, prefer };
  shown = (await app.items.changeItem(tap)).data!;
}
const option = { optionSetKey: 7, optionSetItemKey: 71, displayName: "Olives", currency: "EUR", price: 1 };
await app.items.updateItem({ ...mine, itemId: tapped, updateCartItem: { ...pizza, options: [option] } });
const last = await app.carts.closeCart({ ...mine, closeCart, ifMatch: `"${shown.version + 1}"`, prefer });
assert.deepEqual([last.data!.status, last.data!.items.length], ["checkout", 8]);
assert.ok(calls <= 9);
await carts.reopenCart(mine);
await carts.deleteCart(mine);
console.log("done");
