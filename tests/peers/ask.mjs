// Asks a server whatever it is told to, with the official TypeScript SDK between.
//
//     ask.mjs PROGRAM ARGUMENT...
//
// It starts the program, reads one request a line from its standard input, as `{"method": …, "params": …}`, and prints one
// line for each: `{"result": …}` or `{"error": …}`, and what the server said meanwhile as `"heard"`. Results of calls are
// checked against what the SDK knows of them.

import { createInterface } from 'node:readline';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import {
  CallToolResultSchema,
  GetPromptResultSchema,
  ListPromptsResultSchema,
  ListResourcesResultSchema,
  ListToolsResultSchema,
  ReadResourceResultSchema,
  ResultSchema,
} from '@modelcontextprotocol/sdk/types.js';

const RESULTS = {
  'tools/list': ListToolsResultSchema,
  'tools/call': CallToolResultSchema,
  'prompts/list': ListPromptsResultSchema,
  'prompts/get': GetPromptResultSchema,
  'resources/list': ListResourcesResultSchema,
  'resources/read': ReadResourceResultSchema,
};

const [program, ...args] = process.argv.slice(2);
const client = new Client({ name: 'hermes-peer-asking', version: '1.0.0' }, { capabilities: {} });
let heard = [];
client.fallbackNotificationHandler = async ({ method, params }) => heard.push({ method, params });
await client.connect(new StdioClientTransport({ command: program, args, env: process.env, stderr: 'inherit' }));

for await (const line of createInterface({ input: process.stdin })) {
  const { method, params } = JSON.parse(line);
  const answer = await client.request({ method, params }, RESULTS[method] ?? ResultSchema).then(
    (result) => ({ result }),
    (error) => ({ error: { code: error.code ?? null, message: error.message } }),
  );
  console.log(JSON.stringify({ ...answer, heard }));
  heard = [];
}
await client.close();
