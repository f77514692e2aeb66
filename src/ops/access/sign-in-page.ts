/** The page that asks for a token. */

import { html } from "@remix-run/html-template";
import { renderPage } from "../http/layout.ts";

export interface SignInForm {
  /** the path after signing in */
  readonly to: string;
  /** why the last attempt failed; null: this is the first attempt */
  readonly error: string | null;
}

/** A whole document. The page does not show the typed token again. */
export function renderSignIn({ to, error }: SignInForm): string {
  const complaint = error === null ? null : html`<p id="complaint" class="error" role="alert">${error}</p>`;
  const refers = error === null ? null : html` aria-invalid="true" aria-describedby="complaint"`;
  const main = html`<h1>Sign in</h1>
<form method="post" action="/sign-in" class="sign-in">
${complaint}
<p><label for="token">Token</label>
<input id="token" name="token" type="password" required autofocus autocomplete="current-password"${refers}></p>
<p class="hint">A token of <code>OPS_TOKENS</code>. You stay signed in for 12 hours.</p>
<input type="hidden" name="to" value="${to}">
<button type="submit">Sign in</button>
</form>`;
  return renderPage({ title: "Sign in", visitor: null, path: "/sign-in", main });
}

/**
 * A page that makes the browser load the path again. After a link from another site (an alert in a chat) browsers do
 * not send a strict cookie; for this page's own request they do.
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
<body><p><a href="${path}">Continue</a></p></body>
</html>
`;
  return String(document);
}
