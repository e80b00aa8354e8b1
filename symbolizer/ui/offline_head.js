/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Shows the selection in the head of the file that GET /v1/export?format=html writes, in place of the controls that need a
 * server. style.css hides these.
 */

import { element } from "./element.js";
import { selectionText } from "./offline_api.js";

document.body.classList.add("offline");
document.querySelector(".brand").after(element("p", "selection", selectionText()));
