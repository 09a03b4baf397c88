// A client to copy, for apps: openapi-fetch, and what every team writes anew.
//
// Each call is one intent. It has one Idempotency-Key, and is sent again with it until it is
// answered. Calls about one cart wait for each other, and each change names the version that the
// app has seen last. What is refused is a CartError.

import createClient, { type Client } from "openapi-fetch";
import type { components, paths } from "./schema.js";

type Schemas = components["schemas"];
export type Cart = Schemas["Cart"];

const ATTEMPTS = 8;
const SECONDS_FOR_AN_ANSWER = 10;
const CART_IN_PATH = /\/carts\/([0-9a-f-]{36})/i;

/** What the service has refused, or `unreachable`. Programs read code and facts, people the text. */
export class CartError extends Error {
  readonly code: string;
  readonly facts: Partial<Schemas["NotificationData"]>;

  constructor(readonly status: number, readonly notifications: Schemas["Notification"][]) {
    const first = notifications[0];
    super(first?.text ?? "The cart service cannot be reached.");
    this.code = first?.code ?? "unreachable";
    this.facts = first?.additionalData ?? {};
  }
}

/** Return the data of a call's answer, or throw what is wrong. */
export async function done<Envelope extends object>(
  call: Promise<{ data?: Envelope; error?: Schemas["ErrorResponse"]; response: Response }>,
): Promise<Envelope extends { data?: infer Data } ? Data : undefined> {
  const { data, error, response } = await call.catch(() => {
    throw new CartError(0, []);
  });
  if (!data) throw new CartError(response.status, error?.notifications ?? []);
  return ("data" in data ? data.data : undefined) as never;
}

/** Return a client of openapi-fetch. `token` gives one that is still good. */
export function cartClient(baseUrl: string, token: () => string | Promise<string>): Client<paths> {
  const tags = new Map<string, string>(); // the last ETag of each cart
  const turns = new Map<string, Promise<unknown>>();

  async function answerTo(request: Request, attempt = 1): Promise<Response> {
    const sent = request.clone();
    sent.headers.set("Authorization", `Bearer ${await token()}`);
    const signal = AbortSignal.timeout(SECONDS_FOR_AN_ANSWER * 1000);
    const answer = await fetch(sent, { signal }).catch((lost: unknown) => {
      if (attempt === ATTEMPTS) throw lost;
    });
    if (answer && (attempt === ATTEMPTS || !(await mayComeAgain(answer)))) return answer;
    const seconds = Number(answer?.headers.get("Retry-After") ?? Math.random() * 2 ** attempt * 0.1);
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    return answerTo(request, attempt + 1);
  }

  async function change(request: Request, cart: string | undefined): Promise<Response> {
    const { headers } = request;
    if (!headers.has("Idempotency-Key")) headers.set("Idempotency-Key", crypto.randomUUID());
    if (!headers.has("Prefer")) headers.set("Prefer", "return=representation");
    const seen = cart && tags.get(cart);
    if (seen && !headers.has("If-Match")) headers.set("If-Match", seen); // or "*" of the caller
    return answerTo(request);
  }

  async function send(request: Request, cart: string | undefined): Promise<Response> {
    const reads = request.method === "GET";
    const answer = await (reads ? answerTo(request) : change(request, cart));
    const tag = answer.headers.get("ETag");
    // After a 412, the app reads the cart and decides anew: its ETag is not yet seen.
    if (answer.ok && tag) tags.set(cart ?? (await answer.clone().json()).data.cartId, tag);
    return answer;
  }

  return createClient<paths>({
    baseUrl,
    fetch(request) {
      const cart = CART_IN_PATH.exec(request.url)?.[1]?.toLowerCase();
      if (!cart) return send(request, cart);
      const turn = (turns.get(cart) ?? Promise.resolve()).then(() => send(request, cart));
      turns.set(cart, turn.catch(() => undefined));
      return turn;
    },
  });
}

async function mayComeAgain(answer: Response): Promise<boolean> {
  if (answer.status !== 409) return [429, 502, 503, 504].includes(answer.status);
  const { notifications } = (await answer.clone().json()) as Schemas["ErrorResponse"];
  return notifications[0]?.code === "request_in_progress";
}
