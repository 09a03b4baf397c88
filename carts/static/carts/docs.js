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

const docsSettings = {
  persistAuthorization: true,
  tryItOutEnabled: true,
  plugins: [exactAnswers],
  // A token may be pasted with its scheme before it.
  requestInterceptor(request) {
    const { headers } = request;
    if (headers.Authorization) {
      headers.Authorization = headers.Authorization.replace(/^Bearer\s+Bearer\s+/i, "Bearer ");
    }
    return request;
  },
};
