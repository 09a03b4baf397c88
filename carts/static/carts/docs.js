"use strict";

// Swagger UI has a dark look, which only its top bar would choose. There is none here.
const dark = matchMedia("(prefers-color-scheme: dark)");
const choose = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", choose);
choose();
