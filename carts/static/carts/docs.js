"use strict";

// Swagger UI has a dark look, which only its top bar would choose. There is none here.
const dark = matchMedia("(prefers-color-scheme: dark)");
const choose = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", choose);
choose();

// Swagger UI shows an answer that it has read and written again, which rounds 64-bit keys.
// Here each number keeps its text. A browser that cannot do so gets the answer as it came.
const indented = (text) => {
  const exact = (_, value, { source }) =>
    typeof value === "number" ? JSON.rawJSON(source) : value;
  return JSON.rawJSON ? JSON.stringify(JSON.parse(text, exact), null, 2) : text;
};
const exactAnswers = ({ React, getComponent }) => ({
  wrapComponents: {
    responseBody: (Shown) => (props) => {
      if (!/json/.test(props.contentType)) return React.createElement(Shown, props);
      const answer = { language: "json", downloadable: true, fileName: "answer.json", canCopy: true };
      return React.createElement(
        "div",
        null,
        React.createElement("h5", null, "Response body"),
        React.createElement(getComponent("HighlightCode", true), answer, indented(props.content)),
      );
    },
  },
});

// The list says which operations the specification has.
const origins = ({ React, specSelectors }) => ({
  wrapComponents: {
    OperationSummaryPath: (Shown) => (props) => {
      const { path, method } = props.operationProps.toJS();
      const specified = specSelectors.specJson().getIn(["paths", path, method, "x-beta"]);
      const origin = specified ? "Specified (Beta)" : "Extension";
      const kind = { className: `origin ${specified ? "specified" : ""}` };
      return React.createElement(
        React.Fragment,
        null,
        React.createElement(Shown, props),
        React.createElement("span", kind, origin),
      );
    },
  },
});

const tokenHint = ({ React }) => ({
  wrapComponents: {
    HttpAuth: (Shown) => (props) =>
      React.createElement(
        React.Fragment,
        null,
        React.createElement(
          "p",
          { className: "token-hint" },
          "Paste the TOKEN that manage.py serve has printed in the terminal, or another token that this service takes.",
        ),
        React.createElement(Shown, props),
      ),
  },
});

// The cart and the item of the last answer stand in the fields of what is tried next.
const lastIds = {
  statePlugins: {
    spec: {
      wrapActions: {
        setResponse: (shown, { specActions, specSelectors }) => (path, method, answer) => {
          shown(path, method, answer);
          const found = String(answer.text).matchAll(/"(cartId|itemId)s?": ?\[?"([0-9a-f-]{36})"/g);
          const ids = Object.fromEntries([...found].reverse().map(([, name, id]) => [name, id]));
          specSelectors.specJson().get("paths").forEach((methods, path) =>
            methods.forEach((operation, method) =>
              operation.get("parameters").forEach((parameter) => {
                const id = answer.ok && ids[parameter.get("name")];
                if (id) specActions.changeParamByIdentity([path, method], parameter, id, false);
              }),
            ),
          );
        },
      },
    },
  },
};

SwaggerUIBundle({
  url: document.getElementById("swagger-ui").dataset.document,
  dom_id: "#swagger-ui",
  persistAuthorization: true,
  tryItOutEnabled: true,
  plugins: [exactAnswers, origins, tokenHint, lastIds],
  // A token may be pasted with its scheme before it.
  requestInterceptor(request) {
    const { headers } = request;
    if (headers.Authorization) {
      headers.Authorization = headers.Authorization.replace(/^Bearer\s+Bearer\s+/i, "Bearer ");
    }
    return request;
  },
});
