"""A server for tests. Its arguments say how it behaves; what it does is written, a word a line, to the file $SEEN."""
import json
import os
import select
import signal
import sys
import time

how = sys.argv[1:]
tools = ["echo"]
calls = 0


def seen(word):
    with open(os.environ["SEEN"], "a") as file:
        file.write(word + "\n")


def send(message):
    if "complain" in how:
        os.write(2, b"a secret complaint\n" * 14000)
    sys.stdout.write(json.dumps(dict(message, jsonrpc="2.0")) + "\n")
    sys.stdout.flush()


def next_line():
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(0, 1)
        if not byte:
            return None
        line += byte
    return line


def call(id):
    global calls
    calls += 1
    seen("call")
    if "die" in how:
        os._exit(3)
    if "kill" in how:
        os.kill(os.getpid(), signal.SIGSEGV)
    if "mute" in how:
        return
    if "hang-up" in how:
        os.close(1)
        return
    overlap = bool(select.select([0], [], [], 0.2)[0]) if "one-at-a-time" in how else False
    send({"id": id, "result": {"pid": os.getpid(), "overlap": overlap, "names": sorted(os.environ)}})
    if "grow" in how:
        tools.append("tool_%d" % calls)
        for _ in range(100):
            send({"method": "notifications/tools/list_changed"})


seen("start")
if "stubborn" in how:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if "fail" in how:
    sys.stderr.write("no secret was found\n")
    sys.exit(1)
for word in how:
    if word.startswith("slow="):
        time.sleep(float(word[5:]))
while True:
    line = next_line()
    if line is None:
        break
    message = json.loads(line)
    id, method = message.get("id"), message.get("method")
    if method == "initialize":
        if "silent" in how:
            continue
        capabilities = {"tools": {"listChanged": True}, "prompts": {}}
        send({"id": id, "result": {"protocolVersion": "2025-03-26", "capabilities": capabilities}})
    elif method == "tools/list":
        send({"id": id, "result": {"tools": [{"name": name} for name in tools]}})
        if "leave" in how:
            sys.exit(0)
    elif method == "tools/call":
        call(id)
    elif id is not None:
        seen(method)
        send({"id": id, "error": {"code": -32601, "message": "a secret error"}})
    else:
        seen(method)
if "stay" in how or "stubborn" in how:
    while True:
        time.sleep(1)
