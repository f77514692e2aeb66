"""A small wallet that repairs itself with the events of wallet-recon. Standard library only.

It credits a missing payout once, writes the entry of it to recon's ledger, and only then accepts the event. It may be killed
anywhere: what it has done is in one SQLite file, and an event that it has not accepted comes again.

python3 wallet_service.py FILE, with RECON_URL, RECON_TOKEN and EVENT_SECRET in the environment. It prints its port.
"""

import base64
import hashlib
import hmac
import json
import os
import signal
import sqlite3
import sys
import time
import urllib.request
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, HTTPServer

LARGEST_BODY = 1_000_000
LONGEST_AGE = 300

db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.executescript("""
    create table if not exists balances (player text, currency text, amount text, primary key (player, currency));
    create table if not exists repairs (entry text primary key, player text, currency text, amount text);
    create table if not exists events (number integer primary key, id text unique, type text, mismatch text);
""")


def die_at(point):
    """The test says where the machine fails."""
    if os.environ.get("DIE_AT") == point:
        os.kill(os.getpid(), signal.SIGKILL)


def is_signed(headers, body):
    """Standard Webhooks: one of the signatures is ours, and the message is not an old one that somebody sends again."""
    event_id, sent_at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not sent_at.isdigit() or abs(time.time() - int(sent_at)) > LONGEST_AGE:
        return False
    key = base64.b64decode(os.environ["EVENT_SECRET"].removeprefix("whsec_"))
    digest = hmac.new(key, f"{event_id}.{sent_at}.".encode() + body, hashlib.sha256).digest()
    expected = "v1," + base64.b64encode(digest).decode()
    given = headers.get("webhook-signature", "").split(" ")
    return any([hmac.compare_digest(expected, one) for one in given])


def repair(event):
    """Pays a missing payout. Every step may be repeated."""
    mismatch = event["data"]
    if mismatch["kind"] != "missing-settlement" or mismatch["status"] != "open":
        return
    entry_id = f"repair-{mismatch['id']}"
    player, currency = mismatch["username"], mismatch["currency"]
    payout = mismatch["provider"]["payout"]
    db.execute("begin immediate")
    added = db.execute("insert or ignore into repairs values (?, ?, ?, ?)", (entry_id, player, currency, payout))
    if added.rowcount == 1:
        row = db.execute("select amount from balances where player = ? and currency = ?", (player, currency)).fetchone()
        balance = Decimal(row[0] if row else "0") + Decimal(payout)
        db.execute("insert or replace into balances values (?, ?, ?)", (player, currency, str(balance)))
    db.execute("commit")
    die_at("credited")
    entry = {
        "entry_id": entry_id,
        "callback": "settleBets",
        "request_id": entry_id,
        "product_id": mismatch["productId"],
        "username": player,
        "currency": currency,
        "txn_id": mismatch["ledger"]["txnId"],
        "round_id": mismatch["roundId"],
        "status": "SETTLED",
        "payout_amount": payout,
        "moved": payout,
        "skip_balance_update": False,
        "occurred_at": mismatch["provider"]["updatedDate"],
        "received_at": event["timestamp"],
    }
    request = urllib.request.Request(
        os.environ["RECON_URL"] + "/api/ledger/entries",
        data=json.dumps(entry).encode() + b"\n",
        headers={
            "content-type": "application/x-ndjson",
            "authorization": "Bearer " + os.environ["RECON_TOKEN"],
        },
    )
    with urllib.request.urlopen(request, timeout=5) as response:
        answer = json.load(response)
    if answer["added"] + answer["known"] != 1:
        raise RuntimeError(f"the entry was not taken: {answer}")
    die_at("written")


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(min(int(self.headers.get("content-length", 0)), LARGEST_BODY))
        if not is_signed(self.headers, body):
            return self.answer(401)
        die_at("received")
        event = json.loads(body)
        known = db.execute("select 1 from events where id = ?", (event["id"],)).fetchone()
        if known is None:
            if event["type"].startswith("mismatch."):
                repair(event)
            row = (event["id"], event["type"], event["data"].get("id"))
            db.execute("insert into events (id, type, mismatch) values (?, ?, ?)", row)
            die_at("noted")
        self.answer(204)
        die_at("accepted")

    def do_GET(self):
        tables = {name: db.execute(f"select * from {name}").fetchall() for name in ("balances", "repairs", "events")}
        self.answer(200, json.dumps(tables).encode())

    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", int(os.environ.get("PORT", "0"))), Handler)
print(server.server_port, flush=True)
server.serve_forever()
