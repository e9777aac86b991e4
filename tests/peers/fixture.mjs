// A server that offers whatever the official conformance suite asks a server for.
//
// It speaks over its standard streams, or with `--http PORT` over Streamable HTTP (0: any free port; the address is the
// first line of its standard error). It is made with the official SDK, so it is a peer and no code of ours.

import { randomUUID } from 'node:crypto';
import http from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';

import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  CallToolRequestSchema,
  CompleteRequestSchema,
  CreateMessageResultSchema,
  ElicitResultSchema,
  ErrorCode,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
  SetLevelRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
  isInitializeRequest,
} from '@modelcontextprotocol/sdk/types.js';

// One red pixel.
const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
// A sound of no length.
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=';
const STEP_MS = 50;

const NOTHING = { type: 'object', properties: {} };
const text = (text) => ({ type: 'text', text });
const image = { type: 'image', data: PNG, mimeType: 'image/png' };
const embedded = (uri, mimeType, text) => ({ type: 'resource', resource: { uri, mimeType, text } });
const words = (...named) => Object.fromEntries(named.map((name) => [name, { type: 'string' }]));
const titled = (...pairs) => pairs.map(([value, title]) => ({ const: value, title }));

const accepted = (answer) =>
  text(`Elicitation completed: action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`);

const ask = (extra, message, properties, required) =>
  extra.sendRequest(
    { method: 'elicitation/create', params: { message, requestedSchema: { type: 'object', properties, required } } },
    ElicitResultSchema,
  );

const note = (extra, data) =>
  extra.sendNotification({ method: 'notifications/message', params: { level: 'info', logger: 'fixture', data } });

// The name of each tool, what it is for, what it takes, and what it does.
const TOOLS = {
  test_simple_text: {
    description: 'Says one sentence.',
    run: () => [text('This is a simple text response for testing.')],
  },
  test_image_content: { description: 'Shows one red pixel.', run: () => [image] },
  test_audio_content: {
    description: 'Plays a sound of no length.',
    run: () => [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }],
  },
  test_embedded_resource: {
    description: 'Hands over a resource.',
    run: () => [embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')],
  },
  test_multiple_content_types: {
    description: 'Says, shows and hands over.',
    run: () => [
      text('Multiple content types test:'),
      image,
      embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
    ],
  },
  test_tool_with_logging: {
    description: 'Logs three messages while it works.',
    run: async (_, extra) => {
      await note(extra, 'Tool execution started');
      await pause(STEP_MS);
      await note(extra, 'Tool processing data');
      await pause(STEP_MS);
      await note(extra, 'Tool execution completed');
      return [text('Logged three messages.')];
    },
  },
  test_tool_with_progress: {
    description: 'Says three times how far it is.',
    run: async (_, extra) => {
      const progressToken = extra._meta?.progressToken;
      for (const progress of [0, 50, 100]) {
        if (progress > 0) await pause(STEP_MS);
        if (progressToken !== undefined) {
          const params = { progressToken, progress, total: 100, message: `Completed step ${progress} of 100` };
          await extra.sendNotification({ method: 'notifications/progress', params });
        }
      }
      return [text('Went all the way.')];
    },
  },
  test_error_handling: {
    description: 'Always fails.',
    run: () => {
      throw new Error('This tool intentionally returns an error for testing');
    },
  },
  test_sampling: {
    description: 'Asks the model of the client.',
    takes: { type: 'object', properties: words('prompt'), required: ['prompt'] },
    run: async ({ prompt }, extra) => {
      const messages = [{ role: 'user', content: text(prompt) }];
      const params = { messages, maxTokens: 100 };
      const answer = await extra.sendRequest({ method: 'sampling/createMessage', params }, CreateMessageResultSchema);
      return [text(`LLM response: ${answer.content.text}`)];
    },
  },
  test_elicitation: {
    description: 'Asks the user of the client.',
    takes: { type: 'object', properties: words('message'), required: ['message'] },
    run: async ({ message }, extra) => {
      const fields = words('username', 'email');
      const answer = await ask(extra, message, fields, ['username', 'email']);
      return [text(`User response: action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`)];
    },
  },
  test_elicitation_sep1034_defaults: {
    description: 'Asks the user for values that have defaults.',
    run: async (_, extra) => {
      const fields = {
        name: { type: 'string', default: 'John Doe' },
        age: { type: 'integer', default: 30 },
        score: { type: 'number', default: 95.5 },
        status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
        verified: { type: 'boolean', default: true },
      };
      return [accepted(await ask(extra, 'Please check these values', fields))];
    },
  },
  test_elicitation_sep1330_enums: {
    description: 'Asks the user to choose, in every way there is to ask.',
    run: async (_, extra) => {
      const options = ['option1', 'option2', 'option3'];
      const choices = titled(['value1', 'First Option'], ['value2', 'Second Option'], ['value3', 'Third Option']);
      const fields = {
        untitledSingle: { type: 'string', enum: options },
        titledSingle: { type: 'string', oneOf: choices },
        legacyEnum: {
          type: 'string',
          enum: ['opt1', 'opt2', 'opt3'],
          enumNames: ['Option One', 'Option Two', 'Option Three'],
        },
        untitledMulti: { type: 'array', items: { type: 'string', enum: options } },
        titledMulti: { type: 'array', items: { anyOf: choices } },
      };
      return [accepted(await ask(extra, 'Please choose', fields))];
    },
  },
  test_reconnection: {
    description: 'Lets its stream break before it answers, where it can.',
    run: async (_, extra) => {
      extra.closeSSEStream?.();
      await pause(2 * STEP_MS);
      return [text('Answered after the break.')];
    },
  },
  json_schema_2020_12_tool: {
    description: 'Tool with JSON Schema 2020-12 features',
    takes: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: { address: { type: 'object', properties: words('street', 'city') } },
      properties: { name: { type: 'string' }, address: { $ref: '#/$defs/address' } },
      additionalProperties: false,
    },
    run: (given) => [text(`Took ${JSON.stringify(given)}`)],
  },
};

const RESOURCES = {
  'test://static-text': {
    name: 'static-text',
    description: 'A text that never changes.',
    mimeType: 'text/plain',
    holds: { text: 'This is the content of the static text resource.' },
  },
  'test://static-binary': {
    name: 'static-binary',
    description: 'A picture that never changes.',
    mimeType: 'image/png',
    holds: { blob: PNG },
  },
  'test://watched-resource': {
    name: 'watched-resource',
    description: 'A text to subscribe to.',
    mimeType: 'text/plain',
    holds: { text: 'Watched.' },
  },
};
const TEMPLATE = /^test:\/\/template\/([^/]+)\/data$/;

const says = (...contents) => ({ messages: contents.map((content) => ({ role: 'user', content })) });
const wants = (...names) => names.map((name) => ({ name, description: `The value of ${name}.`, required: true }));
const PROMPTS = {
  test_simple_prompt: {
    description: 'One sentence.',
    wants: [],
    get: () => says(text('This is a simple prompt for testing.')),
  },
  test_prompt_with_arguments: {
    description: 'A sentence with two words of the caller.',
    wants: wants('arg1', 'arg2'),
    get: ({ arg1, arg2 }) => says(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
  },
  test_prompt_with_embedded_resource: {
    description: 'A resource and a sentence.',
    wants: wants('resourceUri'),
    get: ({ resourceUri }) =>
      says(
        embedded(resourceUri, 'text/plain', 'Embedded resource content for testing.'),
        text('Please process the embedded resource above.'),
      ),
  },
  test_prompt_with_image: {
    description: 'A picture and a sentence.',
    wants: [],
    get: () => says(image, text('Please analyze the image above.')),
  },
};

const unknown = (what) => new McpError(ErrorCode.InvalidParams, `there is no ${what} of this name`);

function makeServer() {
  const capabilities = {
    tools: {},
    resources: { subscribe: true },
    prompts: {},
    logging: {},
    completions: {},
  };
  const server = new Server({ name: 'hermes-fixture', version: '1.0.0' }, { capabilities });
  const watched = new Set();

  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: Object.entries(TOOLS).map(([name, tool]) => ({
      name,
      description: tool.description,
      inputSchema: tool.takes ?? NOTHING,
    })),
  }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    const tool = TOOLS[params.name];
    if (!tool) throw unknown('tool');
    try {
      return { content: await tool.run(params.arguments ?? {}, extra) };
    } catch (error) {
      return { content: [text(error.message)], isError: true };
    }
  });
  server.setRequestHandler(ListResourcesRequestSchema, () => ({
    resources: Object.entries(RESOURCES).map(([uri, { holds: _, ...about }]) => ({ uri, ...about })),
  }));
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({
    resourceTemplates: [
      {
        uriTemplate: 'test://template/{id}/data',
        name: 'template',
        description: 'A text about any id.',
        mimeType: 'application/json',
      },
    ],
  }));
  server.setRequestHandler(ReadResourceRequestSchema, ({ params: { uri } }) => {
    const found = RESOURCES[uri];
    if (found) return { contents: [{ uri, mimeType: found.mimeType, ...found.holds }] };
    const id = TEMPLATE.exec(uri)?.[1];
    if (id === undefined) throw unknown('resource');
    const held = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
    return { contents: [{ uri, mimeType: 'application/json', text: held }] };
  });
  server.setRequestHandler(SubscribeRequestSchema, ({ params }) => {
    watched.add(params.uri);
    return {};
  });
  server.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => {
    watched.delete(params.uri);
    return {};
  });
  server.setRequestHandler(ListPromptsRequestSchema, () => ({
    prompts: Object.entries(PROMPTS).map(([name, prompt]) => ({
      name,
      description: prompt.description,
      arguments: prompt.wants,
    })),
  }));
  server.setRequestHandler(GetPromptRequestSchema, ({ params }) => {
    const prompt = PROMPTS[params.name];
    if (!prompt) throw unknown('prompt');
    return prompt.get(params.arguments ?? {});
  });
  server.setRequestHandler(CompleteRequestSchema, ({ params }) => {
    const values = ['testing', 'tested', 'paris', 'park'].filter((word) => word.startsWith(params.argument.value));
    return { completion: { values, total: values.length, hasMore: false } };
  });
  server.setRequestHandler(SetLevelRequestSchema, () => ({}));
  return server;
}

// Keeps the events of all streams, so that a client can come back for them.
class Kept {
  #events = [];

  async storeEvent(streamId, message) {
    this.#events.push({ streamId, message });
    return String(this.#events.length - 1);
  }

  async getStreamIdForEventId(eventId) {
    return this.#events[Number(eventId)]?.streamId;
  }

  async replayEventsAfter(lastEventId, { send }) {
    const last = Number(lastEventId);
    const streamId = this.#events[last].streamId;
    for (const [at, event] of this.#events.entries()) {
      const says = Object.keys(event.message).length > 0;
      if (at > last && event.streamId === streamId && says) await send(String(at), event.message);
    }
    return streamId;
  }
}

async function body(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  return parts.length > 0 ? JSON.parse(Buffer.concat(parts).toString('utf8')) : undefined;
}

async function serveHttp(port) {
  const sessions = new Map();
  const server = http.createServer(async (request, response) => {
    const here = ({ hostname }) => ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
    const { host, origin } = request.headers;
    if (!host || !here(new URL(`http://${host}`)) || (origin && !here(new URL(origin)))) {
      response.writeHead(403).end();
      return;
    }
    const parsed = request.method === 'POST' ? await body(request) : undefined;
    let transport = sessions.get(request.headers['mcp-session-id']);
    if (!transport && parsed && isInitializeRequest(parsed)) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        eventStore: new Kept(),
        retryInterval: 100,
        onsessioninitialized: (id) => sessions.set(id, transport),
      });
      transport.onclose = () => sessions.delete(transport.sessionId);
      await makeServer().connect(transport);
    }
    if (!transport) {
      response.writeHead(404).end();
      return;
    }
    await transport.handleRequest(request, response, parsed);
  });
  server.listen(port, '127.0.0.1', () => {
    console.error(`listening at http://127.0.0.1:${server.address().port}/mcp`);
  });
}

if (process.argv[2] === '--http') {
  await serveHttp(Number(process.argv[3]));
} else {
  await makeServer().connect(new StdioServerTransport());
}
