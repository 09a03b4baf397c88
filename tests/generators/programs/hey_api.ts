// Calls every operation with the client of @hey-api/openapi-ts.

import assert from "node:assert/strict";
import { client } from "./client/client.gen.js";
import {
  addItem,
  changeCart,
  changeItem,
  createCart,
  deleteCart,
  getCart,
  listCarts,
  removeItem,
  updateItem,
} from "./client/index.js";
import type { CartItem, Currency } from "./client/index.js";

const { BASE_URL, TOKEN, PROFILE } = process.env as Record<string, string>;
client.setConfig({ baseUrl: BASE_URL!, auth: () => TOKEN! });
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

const created = await createCart({
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
});
const path = { profileKey, cartId: created.data!.data.cartId };
const added = await addItem({ path, body: pizza });
const itemId = added.data!.data.itemId;
const read = await getCart({ path });
assert.equal(read.data!.data.subtotal, 39.8);
const tag = read.response!.headers.get("ETag")!;

async function replaced(cartId: string, currency: Currency, tag: string) {
  const { response, error } = await updateItem({
    path: { profileKey, cartId, itemId },
    headers: { "If-Match": tag },
    body: { ...pizza, currency },
  });
  return [response!.status, error?.notifications[0]?.code];
}

assert.deepEqual(await replaced(path.cartId, "EUR", tag), [200, undefined]);
assert.deepEqual(await replaced(path.cartId, "USD", "*"), [400, "currency_mismatch"]);
assert.deepEqual(await replaced(crypto.randomUUID(), "EUR", "*"), [404, "cart_not_found"]);
assert.deepEqual(await replaced(path.cartId, "EUR", tag), [412, "version_mismatch"]);
await changeItem({ path: { ...path, itemId }, body: { quantity: 3 } });
await changeCart({ path, body: { platform: "web", note: "Ring twice" } });
const emptied = await changeCart({ path, body: { note: null }, headers: { "If-Match": '"5"' } });
assert.equal(emptied.response!.headers.get("ETag"), '"6"');
const changed = (await getCart({ path })).data!.data;
assert.deepEqual([changed.subtotal, changed.platform, changed.note], [49.75, "web", null]);
assert.equal((await removeItem({ path: { ...path, itemId } })).response!.status, 200);
const listed = await listCarts({ path: { profileKey } });
assert.deepEqual(listed.data!.data.carts.map((cart) => cart.itemCount), [1]);
assert.equal((await deleteCart({ path })).response!.status, 200);
assert.equal((await getCart({ path })).response!.status, 404);
console.log("done");
