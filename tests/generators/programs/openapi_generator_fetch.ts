// Calls every operation with the typescript-fetch client of openapi-generator.

import assert from "node:assert/strict";
import { CartsApi, Configuration, ItemsApi, ResponseError } from "./client/index.js";
import type { CartItem, ErrorResponse } from "./client/index.js";

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

const created = await carts.createCart({
  profileKey,
  createCart: {
    partnerKey: "DEMO",
    restaurantKey: 1,
    platform: "test",
    orderingChannel: "WEB",
    fulfilmentChannel: "DELIVERY",
    currency: "EUR",
    items: [pizza],
  },
});
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
const listed = await carts.listCarts({ profileKey });
assert.deepEqual(listed.data.carts.map((one) => one.itemCount), [1]);
await carts.deleteCart({ profileKey, cartId });
assert.deepEqual((await carts.listCarts({ profileKey })).data.carts, []);
console.log("done");
