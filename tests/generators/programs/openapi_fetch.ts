// Calls every operation with openapi-fetch and the types of openapi-typescript.

import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

const { BASE_URL, TOKEN, PROFILE } = process.env as Record<string, string>;
const client = createClient<paths>({
  baseUrl: BASE_URL,
  headers: { Authorization: `Bearer ${TOKEN}` },
});
const pizza: components["schemas"]["CartItem"] = {
  menuKey: "DINNER",
  menuVersion: 1,
  menuItemKey: 42,
  displayName: "Pizza",
  currency: "EUR",
  price: 9.95,
  quantity: 2,
};
const profileKey = PROFILE!;

const created = await client.POST("/v2.0/customers/{profileKey}/carts", {
  params: { path: { profileKey } },
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
const cartId = created.data!.data.cartId;
const path = { profileKey, cartId };
const added = await client.POST("/v2.0/customers/{profileKey}/carts/{cartId}/items", {
  params: { path },
  body: pizza,
});
const itemId = added.data!.data.itemId;
const read = await client.GET("/v2.0/customers/{profileKey}/carts/{cartId}", { params: { path } });
assert.equal(read.data!.data.subtotal, 39.8);
assert.equal(read.data!.data.items[1]!.options.length, 0);
const tag = read.response.headers.get("ETag")!;

async function replaced(
  cartId: string,
  currency: string,
  tag: string,
): Promise<[number, string | null | undefined]> {
  const { response, error } = await client.PUT(
    "/v2.0/customers/{profileKey}/carts/{cartId}/items/{itemId}",
    {
      params: { path: { profileKey, cartId, itemId }, header: { "If-Match": tag } },
      body: { ...pizza, currency },
    },
  );
  return [response.status, error?.notifications[0]?.code];
}

assert.deepEqual(await replaced(cartId, "EUR", tag), [200, undefined]);
assert.deepEqual(await replaced(cartId, "USD", "*"), [400, "currency_mismatch"]);
assert.deepEqual(await replaced(crypto.randomUUID(), "EUR", "*"), [404, "cart_not_found"]);
assert.deepEqual(await replaced(cartId, "EUR", tag), [412, "version_mismatch"]);
const changedItem = await client.PATCH(
  "/v2.0/customers/{profileKey}/carts/{cartId}/items/{itemId}",
  { params: { path: { profileKey, cartId, itemId } }, body: { quantity: 3 } },
);
assert.equal(changedItem.response.status, 200);
for (const body of [{ platform: "web", note: "Ring twice" }, { note: null }]) {
  const header = { "If-Match": body.note ? '"4"' : '"5"' };
  const { response } = await client.PATCH("/v2.0/customers/{profileKey}/carts/{cartId}", {
    params: { path, header },
    body,
  });
  assert.equal(response.status, 200);
}
const again = await client.GET("/v2.0/customers/{profileKey}/carts/{cartId}", { params: { path } });
const changed = again.data!.data;
assert.deepEqual([changed.subtotal, changed.platform, changed.note], [49.75, "web", null]);
const removed = await client.DELETE("/v2.0/customers/{profileKey}/carts/{cartId}/items/{itemId}", {
  params: { path: { profileKey, cartId, itemId } },
});
assert.equal(removed.response.status, 200);
const whole = { items: [{ ...pizza, price: 11 }] };
const batch = await client.POST("/v2.0/customers/{profileKey}/carts/{cartId}/items/batch", {
  params: { path, header: { Prefer: "return=representation" } },
  body: { items: [pizza, pizza] },
});
assert.equal(batch.data!.data.cart!.items.length, 3);
const all = await client.PUT("/v2.0/customers/{profileKey}/carts/{cartId}/items", {
  params: { path },
  body: whole,
});
assert.equal(all.data!.data.itemIds.length, 1);
const closed = await client.POST("/v2.0/customers/{profileKey}/carts/{cartId}/close", {
  params: { path, header: { Prefer: "return=representation" } },
  body: { outcome: "checkout", reference: "payment-1" },
});
assert.equal(closed.data!.data!.status, "checkout");
const reopened = await client.POST("/v2.0/customers/{profileKey}/carts/{cartId}/reopen", {
  params: { path },
});
assert.equal(reopened.response.status, 200);
const listed = await client.GET("/v2.0/customers/{profileKey}/carts", {
  params: { path: { profileKey } },
});
assert.deepEqual(listed.data!.data.carts.map((cart) => cart.itemCount), [1]);
const deleted = await client.DELETE("/v2.0/customers/{profileKey}/carts/{cartId}", {
  params: { path },
});
assert.equal(deleted.response.status, 200);
console.log("done");
