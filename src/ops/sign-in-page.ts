/** The page that asks for a token. */

import { html } from "@remix-run/html-template";
import { renderPage } from "./dashboard/layout.ts";

export interface SignInForm {
  /** the path to go on to */
  readonly to: string;
  /** why the last try failed; null: it is the first */
  readonly error: string | null;
}

/** A whole document. What was typed is not shown again. */
export function renderSignIn({ to, error }: SignInForm): string {
  const complaint = error === null ? null : html`<p id="complaint" class="error" role="alert">${error}</p>`;
  const refers = error === null ? null : html` aria-invalid="true" aria-describedby="complaint"`;
  const main = html`<h1>Sign in</h1>
<form method="post" action="/sign-in" class="sign-in">
${complaint}
<p><label for="token">Token</label>
<input id="token" name="token" type="password" required autofocus autocomplete="current-password"${refers}></p>
<p class="hint">One of those in <code>OPS_TOKENS</code>. You stay signed in for 12 hours.</p>
<input type="hidden" name="to" value="${to}">
<button type="submit">Sign in</button>
</form>`;
  return renderPage({ title: "Sign in", visitor: null, path: "/sign-in", main });
}

/**
 * Sends a browser here again by itself. It keeps a strict cookie back when a link of another site (an alert in a chat) led
 * here, but brings it along when this page asks.
 */
export function renderComeAgain(to: string): string {
  const path = `/sign-in?${new URLSearchParams({ to })}`;
  const document = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url=${path}">
<title>wallet-recon</title>
</head>
<body><p><a href="${path}">Go on</a></p></body>
</html>
`;
  return String(document);
}
