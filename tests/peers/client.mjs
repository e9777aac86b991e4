// A client on the official TypeScript SDK that uses `hermes mcp serve` as an agent would.
//
//     client.mjs PROGRAM ARGUMENT...
//
// It starts the program and prints one JSON document a line, one for each step.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';

const [program, ...args] = process.argv.slice(2);
const tell = (step, found) => console.log(JSON.stringify({ step, ...found }));

const client = new Client({ name: 'hermes-peer-typescript', version: '1.0.0' }, { capabilities: {} });
const transport = new StdioClientTransport({ command: program, args, env: process.env, stderr: 'inherit' });
let changed = () => {};
client.setNotificationHandler(ToolListChangedNotificationSchema, () => changed());
await client.connect(transport);
tell('initialize', {
  server: client.getServerVersion().name,
  capabilities: Object.keys(client.getServerCapabilities()),
  instructions: client.getInstructions() ?? '',
});

const call = async (name, given, options) => {
  const result = await client.callTool({ name, arguments: given }, undefined, options);
  const texts = result.content.filter((block) => block.type === 'text').map((block) => block.text);
  return { text: texts.join('\n'), structured: result.structuredContent ?? null, failed: result.isError ?? false };
};

// A server that starts slowly is listed when it is ready, and that is told.
let tools;
for (;;) {
  const news = new Promise((resolve) => (changed = resolve));
  ({ tools } = await client.listTools());
  if (tools.some(({ name }) => name === 'everything__echo')) break;
  await news;
}
tell('tools', { names: tools.map((tool) => tool.name), described: tools.every((tool) => tool.description?.length > 0) });
tell('foreground', await call('terminal', { command: 'echo hello' }));
tell('exit', await call('terminal', { command: 'exit 3' }));
tell('refused', await call('terminal', {}));

const started = await call('terminal', { command: 'echo begun; echo ended', background: true });
tell('background', started);
const { id } = started.structured;
tell('waited', await call('process', { action: 'wait', id }));
tell('log', await call('process', { action: 'log', id }));
tell('notified', await call('terminal', { command: 'exit 4', background: true, notify: true }));
tell('events', await call('process', { action: 'events', wait_ms: 10000 }));

const { resources } = await client.listResources();
const log = resources.find((resource) => resource.uri.includes(id));
const { contents } = await client.readResource({ uri: log.uri });
tell('resource', { uri: log.uri, id, text: contents[0].text });

tell('gateway', await call('everything__echo', { message: 'through the gateway' }));
const seen = [];
const slow = { duration: 0.4, steps: 4 };
const done = await call('everything__trigger-long-running-operation', slow, {
  onprogress: ({ progress, total }) => seen.push([progress, total]),
});
tell('progress', { ...done, seen });

// What is given up is given up at once, and the session goes on.
const sleeper = await call('terminal', { command: 'exec sleep 600', background: true });
const giving = new AbortController();
const waiting = call('process', { action: 'wait', id: sleeper.structured.id }, { signal: giving.signal });
giving.abort('no longer wanted');
const givenUp = await waiting.then(
  () => false,
  () => true,
);
await client.ping();
tell('cancelled', { givenUp });
tell('killed', await call('process', { action: 'kill', id: sleeper.structured.id }));

const unknown = await client.callTool({ name: 'no__such' }).then(
  (result) => ({ failed: result.isError === true, code: null }),
  (error) => ({ failed: true, code: error.code }),
);
tell('unknown', unknown);
const left = await call('terminal', { command: 'exec sleep 600', background: true });
tell('left', left);
await client.close();
tell('closed', {});
