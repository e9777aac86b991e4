"""A client on the official Python SDK that uses `hermes mcp serve` as an agent would.

    client.py MODE PROGRAM ARGUMENT...

It starts the program and prints one JSON document a line, one for each step. MODE is how the version of the protocol is
agreed on: `legacy` for the handshake, `auto` for the newest way first.
"""

import asyncio
import json
import os
import sys

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError


def tell(step, **found):
    print(json.dumps({"step": step, **found}), flush=True)


async def call(client, name, given, **options):
    result = await client.call_tool(name, given, **options)
    texts = [block.text for block in result.content if block.type == "text"]
    return {"text": "\n".join(texts), "structured": result.structured_content, "failed": bool(result.is_error)}


async def tools_of(client):
    """A server that starts slowly is listed when it is ready."""
    while True:
        tools = (await client.list_tools(cache_mode="bypass")).tools
        if any(tool.name == "everything__echo" for tool in tools):
            return tools
        await asyncio.sleep(0.2)


async def commands(client):
    tools = await tools_of(client)
    tell("tools", names=[tool.name for tool in tools], described=all(tool.description for tool in tools))
    tell("foreground", **await call(client, "terminal", {"command": "echo hello"}))
    tell("exit", **await call(client, "terminal", {"command": "exit 3"}))
    tell("refused", **await call(client, "terminal", {}))
    started = await call(client, "terminal", {"command": "echo begun; echo ended", "background": True})
    tell("background", **started)
    process = started["structured"]["id"]
    tell("waited", **await call(client, "process", {"action": "wait", "id": process}))
    tell("log", **await call(client, "process", {"action": "log", "id": process}))
    notified = {"command": "exit 4", "background": True, "notify": True}
    tell("notified", **await call(client, "terminal", notified))
    tell("events", **await call(client, "process", {"action": "events", "wait_ms": 10000}))
    resources = (await client.list_resources()).resources
    uri = next(str(resource.uri) for resource in resources if process in str(resource.uri))
    contents = (await client.read_resource(uri)).contents
    tell("resource", uri=uri, id=process, text=contents[0].text)


async def servers(client):
    tell("gateway", **await call(client, "everything__echo", {"message": "through the gateway"}))
    seen = []

    async def progress(at, total, message):
        seen.append([at, total])

    slow = {"duration": 0.4, "steps": 4}
    done = await call(client, "everything__trigger-long-running-operation", slow, progress_callback=progress)
    tell("progress", seen=seen, **done)


async def taken_back(client):
    """What is given up is given up at once, and the session goes on."""
    sleeper = await call(client, "terminal", {"command": "exec sleep 600", "background": True})
    process = sleeper["structured"]["id"]
    waiting = asyncio.create_task(call(client, "process", {"action": "wait", "id": process}))
    # Once around, so that it is asked before it is given up.
    await asyncio.sleep(0)
    waiting.cancel()
    try:
        await waiting
        given_up = False
    except asyncio.CancelledError:
        given_up = True
    polled = await call(client, "process", {"action": "poll", "id": process})
    tell("cancelled", givenUp=given_up, **polled)
    tell("killed", **await call(client, "process", {"action": "kill", "id": process}))


async def unknown(client):
    try:
        result = await client.call_tool("no__such", {})
        tell("unknown", failed=bool(result.is_error), code=None)
    except MCPError as error:
        tell("unknown", failed=True, code=error.error.code)


async def main():
    mode, program, *arguments = sys.argv[1:]
    server = StdioServerParameters(command=program, args=arguments, env=dict(os.environ))
    async with Client(server, mode=mode) as client:
        capabilities = client.server_capabilities.model_dump(exclude_none=True)
        tell(
            "initialize",
            server=client.server_info.name,
            version=client.protocol_version,
            capabilities=list(capabilities),
            instructions=client.instructions or "",
        )
        await commands(client)
        await servers(client)
        await taken_back(client)
        await unknown(client)
        tell("left", **await call(client, "terminal", {"command": "exec sleep 600", "background": True}))
    tell("closed")


asyncio.run(main())
