"use strict";

// The server writes and reads times in the time zone that this cookie names.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const secure = location.protocol === "https:" ? "; Secure" : "";
if (zone) document.cookie = `timezone=${zone}; Path=/; Max-Age=31536000; SameSite=Lax${secure}`;

// The key of the search box, unless somebody types.
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.target.matches("input, select, textarea")) return;
  event.preventDefault();
  document.getElementById("id_q")?.focus();
});

// The order as text: a row a line, between the facts and the texts that go with it.
const orderText = document.querySelector("[data-copy-order]");
if (orderText) {
  // Each row of a value is an isolate, as on the page.
  const text = (element) => {
    const copy = document.createElement("div");
    copy.append(element.cloneNode(true));
    for (const value of copy.querySelectorAll("bdi")) {
      value.textContent = value.textContent.split("\n").map((row) => `\u2068${row}\u2069`).join("\n");
    }
    return copy.textContent.trim();
  };
  const line = (row) => {
    if (row.matches("div")) return `${text(row.firstElementChild)}: ${text(row.lastElementChild.firstElementChild)}`;
    const cells = [...row.cells];
    if (!row.matches(".item")) return cells.map(text).filter(Boolean).join(": ");
    const [count, name, price, value] = cells;
    const [one] = text(value.querySelector(".words") ?? price).split(" ");
    const each = text(count) === "1 ×" ? "" : ` (${one} each)`;
    return `${text(count)} ${text(name)}: ${text(value.firstChild)}${each}`;
  };
  const rows = document.querySelectorAll(".order .item, .order .option, .order .instructions, .order tfoot tr, [data-copied]");
  orderText.dataset.copy = [document.getElementById("cart-id").textContent, ...[...rows].map(line)].join("\n");
}

// Of many items, those with all the words that are typed.
const itemsWith = document.getElementById("items-with");
if (itemsWith) {
  const items = [...document.querySelectorAll(".order tbody")].map((body) => {
    const rows = [...body.querySelectorAll("tr:not(.tools)")];
    return [body, rows.map((row) => row.textContent).join(" ").toLowerCase()];
  });
  itemsWith.parentElement.hidden = false;
  itemsWith.addEventListener("input", () => {
    const words = itemsWith.value.toLowerCase().split(/\s+/);
    for (const [body, text] of items) body.hidden = !words.every((word) => text.includes(word));
    const shown = items.filter(([body]) => !body.hidden);
    itemsWith.nextElementSibling.textContent = `${shown.length} of ${items.length} items`;
  });
}

if (navigator.clipboard) {
  // A screen reader does not read a button that changes.
  const announcement = document.createElement("p");
  announcement.className = "visually-hidden";
  announcement.setAttribute("role", "status");
  document.querySelector("main")?.append(announcement);
  for (const button of document.querySelectorAll("button[data-copy]")) {
    const label = button.textContent;
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = announcement.textContent = "Copied";
      setTimeout(() => { button.textContent = label; announcement.textContent = ""; }, 1500);
    });
  }
}

// What somebody searched and typed in this tab is not for whoever logs in next.
const { account } = document.currentScript.dataset;
if (account && account !== sessionStorage.getItem("account")) {
  sessionStorage.clear();
  sessionStorage.setItem("account", account);
}
// The back button shows a form as it was left, whoever left it: in some browsers by now, in others later.
if (account && account !== history.state?.account) {
  for (const form of history.state ? document.forms : []) {
    form.reset();
    form.autocomplete = "off";
  }
  history.replaceState({ account }, "");
}

// Whether the cart has changed, or is gone, when its page comes to the front again.
const changed = document.querySelector("[data-version]");
document.addEventListener("visibilitychange", async () => {
  if (document.hidden || !changed) return;
  const version = `"${changed.dataset.version}"`;
  const headers = { "If-Match": version, "If-None-Match": version };
  const answer = await fetch("", { headers, redirect: "manual" }).catch(() => null);
  if (answer?.status === 412) changed.firstElementChild.hidden = false;
});

// The way back to the list keeps what was searched, in this tab, until somebody logs out.
const list = document.getElementById("found");
if (document.querySelector("form.find")) sessionStorage.setItem("found", location.search);
if (list) list.search = sessionStorage.getItem("found") ?? "";
if (document.querySelector(".signed-out")) sessionStorage.clear();

// Links to share have no empty parameters.
document.querySelector("form.find")?.addEventListener("formdata", (event) => {
  for (const [name, value] of [...event.formData]) if (!value) event.formData.delete(name);
});

const keys = document.getElementById("show-keys");
function showKeys() {
  if (keys) keys.checked = true;
}

const more = document.getElementById("add-option");
if (more) {
  const total = document.getElementById("id_options-TOTAL_FORMS");
  const rows = document.getElementById("options");
  const blank = document.getElementById("empty-option");
  more.hidden = false;
  more.addEventListener("click", () => {
    showKeys(); // a new option has none yet
    const row = blank.content.cloneNode(true);
    for (const element of row.querySelectorAll("[id], [name], [for]")) {
      for (const name of ["id", "name", "for", "aria-describedby"]) {
        const value = element.getAttribute(name);
        if (value) element.setAttribute(name, value.replace("__prefix__", total.value));
      }
    }
    total.value = Number(total.value) + 1;
    rows.append(row);
    rows.lastElementChild.querySelector("input").focus();
  });
}

// What was typed comes back, after logging in or an error, if the page was not saved.
const typed = JSON.parse(sessionStorage.getItem("typed"));
if (document.querySelector("body.login, body.error")) {
  if (typed) sessionStorage.setItem("typed", JSON.stringify({ ...typed, back: true }));
} else {
  sessionStorage.removeItem("typed");
  const form = document.querySelector(".desk main form[method=post]:not([data-typed])");
  if (form && typed?.back && typed.path === location.pathname + location.search) {
    const values = new Map(typed.values), total = "options-TOTAL_FORMS";
    while (more && Number(form.elements[total].value) < Number(values.get(total))) more.click();
    for (const [name, value] of values) {
      const field = form.elements[name];
      if (field?.type === "checkbox") field.checked = true;
      else if (field) field.value = value;
    }
    const notice = document.createElement("p");
    notice.className = "errornote";
    notice.setAttribute("role", "alert");
    notice.textContent = "What you typed is here again. It is not saved yet.";
    form.before(notice);
    form.dataset.typed = "yes";
  }
}

document.querySelector(".desk [aria-invalid=true]")?.focus();

// The browser points at what is missing only if it is seen.
document.addEventListener("invalid", showKeys, true);

// A dish or an option that is chosen by its name brings its price and its keys.
const offered = JSON.parse(document.getElementById("offered")?.textContent ?? "{}");
document.querySelector(".item-form")?.addEventListener("change", ({ target }) => {
  const names = offered[target.getAttribute("list")] ?? {};
  if (!Object.hasOwn(names, target.value)) return;
  for (const [name, value] of Object.entries(names[target.value])) {
    document.getElementById(target.id.replace(/display_name$/, name)).value = value;
  }
});

// The back button opens a form anew. It keeps the key with which it was sent.
for (const key of document.querySelectorAll("main [name=key]")) {
  key.value = history.state?.key ?? key.value;
  history.replaceState({ account, key: key.value }, "");
}

// A second click while the page is saving would send the form again.
const forms = document.querySelectorAll("form[method=post]");
for (const form of forms) {
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "yes";
    // A request may be stopped. That of a slow page is not saved twice, by the form's key.
    setTimeout(() => { delete form.dataset.sent; }, 5_000);
  });
}
// The back button may show the page as it was left.
window.addEventListener("pageshow", () => {
  for (const form of forms) delete form.dataset.sent;
});

const all = document.querySelector("[data-all]");
if (all) {
  all.parentElement.hidden = false;
  all.addEventListener("change", () => {
    for (const box of document.getElementsByName("cart")) box.checked = all.checked;
  });
}

// Leaving a form would lose what was typed, except while it is saved.
for (const form of document.querySelectorAll(".desk form[method=post]:not(.several)")) {
  form.addEventListener("input", () => { form.dataset.typed = "yes"; });
}
for (const form of document.querySelectorAll(".desk main form[method=post]:not(.several)")) {
  form.addEventListener("submit", () => {
    const values = [...new FormData(form)].filter(([name]) => name !== "csrfmiddlewaretoken");
    const path = location.pathname + location.search;
    sessionStorage.setItem("typed", JSON.stringify({ path, values }));
  });
}
window.addEventListener("beforeunload", (event) => {
  if (document.querySelector(".desk form[data-typed]:not([data-sent])")) event.preventDefault();
});
