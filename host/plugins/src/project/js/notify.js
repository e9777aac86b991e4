// Suppresses completions of commands that nobody waits for: those in the settings, when they succeeded.

import { deliver, notifier, suppress } from "hermes-plugin-sdk/notify";

export class Notifier {
  constructor(settings) {
    this.quiet = settings.quiet ?? ["sleep"];
  }

  decide(event) {
    const [program] = event.command.trim().split(/\s+/);
    const succeeded = event.kind === "completion" && event.exitCode === 0;
    return succeeded && this.quiet.includes(program) ? suppress(`${program} succeeded, as it always does`) : deliver;
  }
}

export const { lifecycle, notify } = notifier(Notifier, { name: "{{name}}", version: "0.1.0" });
