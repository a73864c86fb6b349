"""dynrepl mcp, used by the public client of the Model Context Protocol (the package mcp) as it is.

    mcp_client.py DYNREPL MODEL

Skipped where the package is missing (exit 77).
"""
import asyncio
import importlib.util
import os
import sys
import tempfile


async def talk(dynrepl: str, model: str) -> None:
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    def field(result: object, name: str) -> object:
        """Version 2 of the package spells fields in snake case, version 1 as the protocol does."""
        snake = "".join("_" + c.lower() if c.isupper() else c for c in name)
        return getattr(result, snake) if hasattr(result, snake) else getattr(result, name)

    async def say(session: ClientSession, tool: str, **arguments: object) -> tuple[bool, str, dict]:
        result = await session.call_tool(tool, arguments)
        return not field(result, "isError"), result.content[0].text, field(result, "structuredContent") or {}

    async with stdio_client(StdioServerParameters(command=dynrepl, args=["mcp"])) as (read, write):
        async with ClientSession(read, write) as session:
            info = await session.initialize()
            assert field(info, "serverInfo").name == "dyn", info
            tools = {tool.name: tool for tool in (await session.list_tools()).tools}
            assert {"load", "why", "dims", "run", "plan", "limit", "check"} <= tools.keys(), tools.keys()
            assert all(field(tool.annotations, "readOnlyHint") for tool in tools.values())
            assert "save" not in tools and "export" not in tools, "a server that only reads offers to write"

            ok, text, _ = await say(session, "load", model=model)
            assert ok, text
            ok, text, answer = await say(session, "dims")
            assert ok and answer["dims"], text
            name = answer["dims"][0]["symbol"]
            assert name in text
            ok, text, answer = await say(session, "run", dim=["%s=3" % d["symbol"] for d in answer["dims"]])
            assert ok and answer["outputs"], text

            ok, text, answer = await say(session, "load", model=os.path.join(tempfile.gettempdir(), "nowhere.onnx"))
            assert not ok and "nowhere.onnx" in text and answer["error"]["id"], text
            ok, text, _ = await say(session, "info")
            assert ok, "a load that fails leaves the model as it was: " + text


if __name__ == "__main__":
    if importlib.util.find_spec("mcp") is None:
        print("there is no package mcp")
        sys.exit(77)
    asyncio.run(asyncio.wait_for(talk(*sys.argv[1:]), 120))
    print("the public client and dynrepl mcp understand each other")
