//! What all servers offer together: each thing under its name of this host, as the policy shows it.
//!
//! It must never list what a server's configuration leaves out, and never a text the policy has not seen.

use std::collections::HashMap;
use std::sync::Arc;

use hermes_model::config::servers::ToolsConfig;
use hermes_model::context::Surface;
use hermes_model::id::{Owner, ServerName};
use hermes_output::json::cut;
use hermes_output::policy::Policy;
use hermes_output::visible::Visible;
use serde_json::{Value, json};

use super::handle::Gateway;
use super::names::Names;
use super::uris;
use crate::servers::handle::Offering;
use crate::servers::raw::Raw;
use crate::tools::{PROCESS, TERMINAL};

/// How much is kept of what a server says of itself, in bytes: more than is ever passed on.
const INSTRUCTIONS_MAX: usize = 8 << 10;

/// Something of a server, and which one's.
#[derive(Clone)]
pub(crate) struct Target {
    /// The number of the server.
    pub(crate) server: usize,
    /// What the server calls it: raw.
    pub(crate) own: String,
    /// Whether the server says that it only reads.
    pub(crate) read_only: bool,
    /// Whether its results have a schema.
    pub(crate) has_schema: bool,
}

/// One element of a list.
struct Item {
    own: String,
    read_only: bool,
    has_schema: bool,
    shown: Value,
}

/// What one server offers, as it may be shown under one state of the policy.
pub(crate) struct Shelf {
    offering: Arc<Offering>,
    fingerprint: u64,
    tools: Vec<Item>,
    prompts: Vec<Item>,
    resources: Vec<Item>,
    templates: Vec<Item>,
    /// The beginning of what it says of itself.
    instructions: Option<Visible>,
    /// Why nothing of a list may be shown.
    withheld: Option<String>,
}

impl Shelf {
    /// Whether it is still what the server offers and the policy shows. What was withheld is asked for anew each time.
    pub(crate) fn is_of(&self, offering: &Arc<Offering>, policy: &dyn Policy) -> bool {
        self.withheld.is_none() && Arc::ptr_eq(&self.offering, offering) && self.fingerprint == policy.fingerprint()
    }

    /// Nothing, with the reason.
    pub(crate) fn broken(why: String) -> Self {
        Self {
            offering: Arc::default(),
            fingerprint: 0,
            tools: Vec::new(),
            prompts: Vec::new(),
            resources: Vec::new(),
            templates: Vec::new(),
            instructions: None,
            withheld: Some(why),
        }
    }
}

/// Shows what a server offers. Plugins are asked, so it may block.
pub(crate) fn shelf(gateway: &Gateway, server: usize, offering: Arc<Offering>) -> Shelf {
    let config: &ToolsConfig = &gateway.server(server).config().tools;
    // Before anything is looked at: where another policy comes meanwhile, all of it is looked at again.
    let fingerprint = gateway.policy().fingerprint();
    let mut withheld = None;
    let mut list = |elements: &[Raw], key: &str, wanted: &dyn Fn(&str) -> bool| {
        let own = |element: &Raw| element.value().get(key).and_then(Value::as_str).map(str::to_owned);
        let mut items = Vec::new();
        let mut values = Vec::new();
        for element in elements {
            let Some(own) = own(element).filter(|own| wanted(own)) else { continue };
            let value = element.value();
            let read_only = value.pointer("/annotations/readOnlyHint") == Some(&Value::Bool(true));
            let has_schema = value.get("outputSchema").is_some_and(Value::is_object);
            items.push(Item { own, read_only, has_schema, shown: Value::Null });
            values.push(value.clone());
        }
        if values.is_empty() {
            return items;
        }
        let looked = gateway.look(server, Surface::McpResult, Owner::default(), Value::Array(values));
        match looked.map(|revealed| revealed.value.into_value()) {
            Ok(Value::Array(shown)) => {
                for (item, shown) in items.iter_mut().zip(shown) {
                    item.shown = shown;
                }
                items
            }
            Ok(_) => Vec::new(),
            Err(nothing) => {
                withheld = Some(nothing.notice.as_str().to_owned());
                Vec::new()
            }
        }
    };
    let everything: &dyn Fn(&str) -> bool = &|_| true;
    let tools = list(&offering.tools, "name", &|own| config.offers(own));
    let prompts = if config.prompts { list(&offering.prompts, "name", everything) } else { Vec::new() };
    let (resources, templates) = if config.resources {
        (list(&offering.resources, "uri", everything), list(&offering.templates, "uriTemplate", everything))
    } else {
        (Vec::new(), Vec::new())
    };
    let instructions = offering.instructions.as_ref().and_then(|raw| raw.value().as_str());
    let instructions = instructions.and_then(|text| instructions_of(gateway, server, text));
    Shelf { offering, fingerprint, tools, prompts, resources, templates, instructions, withheld }
}

/// The beginning of what a server says of itself, where it may be shown.
fn instructions_of(gateway: &Gateway, server: usize, text: &str) -> Option<Visible> {
    let shown = gateway.look_at_text(server, Surface::McpResult, text);
    if shown.report.withheld.is_some() {
        return None;
    }
    let page = cut::page(&shown.text, 0, INSTRUCTIONS_MAX);
    (!page.text.as_str().trim().is_empty()).then_some(page.text)
}

/// Everything that is offered. Lists hold documents as a client gets them.
pub(crate) struct Catalogue {
    pub(crate) tools: Vec<Value>,
    pub(crate) prompts: Vec<Value>,
    pub(crate) resources: Vec<Value>,
    pub(crate) templates: Vec<Value>,
    /// What servers say of themselves, with their names.
    pub(crate) instructions: Vec<(ServerName, Visible)>,
    /// Why something is missing, a notice each.
    pub(crate) withheld: Vec<String>,
    tool_names: Names<Option<Target>>,
    prompt_names: Names<Option<Target>>,
    uris: HashMap<String, Target>,
}

impl Catalogue {
    /// Puts the shelves of all servers together, in the order of the servers.
    pub(crate) fn of<'a>(shelves: impl IntoIterator<Item = (&'a ServerName, &'a Shelf)>) -> Self {
        let mut all = Self {
            tools: Vec::new(),
            prompts: Vec::new(),
            resources: Vec::new(),
            templates: Vec::new(),
            instructions: Vec::new(),
            withheld: Vec::new(),
            tool_names: Names::without([(TERMINAL, None), (PROCESS, None)]),
            prompt_names: Names::without([]),
            uris: HashMap::new(),
        };
        for (server, (name, shelf)) in shelves.into_iter().enumerate() {
            all.withheld.extend(shelf.withheld.as_ref().map(|notice| format!("{name}: {notice}")));
            all.instructions.extend(shelf.instructions.iter().map(|text| (name.clone(), text.clone())));
            for item in &shelf.tools {
                let mut document = named(&mut all.tool_names, server, name, item);
                // Clients refuse a whole list for one tool without a schema.
                if !document.get("inputSchema").is_some_and(Value::is_object) {
                    document["inputSchema"] = json!({"type": "object"});
                }
                all.tools.push(document);
            }
            for item in &shelf.prompts {
                let document = named(&mut all.prompt_names, server, name, item);
                all.prompts.push(document);
            }
            for (items, field, into, call) in [
                (&shelf.resources, "uri", &mut all.resources, uris::of_resource as fn(&ServerName, &str) -> String),
                (&shelf.templates, "uriTemplate", &mut all.templates, uris::of_template),
            ] {
                for item in items {
                    let shown = item.shown.get(field).and_then(Value::as_str).unwrap_or_default();
                    let uri = call(name, shown);
                    let mut document = item.shown.clone();
                    document[field] = Value::String(uri.clone());
                    all.uris.entry(uri).or_insert_with(|| target(server, item));
                    into.push(document);
                }
            }
        }
        all
    }

    /// The tool of a server that is called so here.
    pub(crate) fn tool(&self, offered: &str) -> Option<&Target> {
        self.tool_names.get(offered)?.as_ref()
    }

    /// The prompt of a server that is called so here.
    pub(crate) fn prompt(&self, offered: &str) -> Option<&Target> {
        self.prompt_names.get(offered)?.as_ref()
    }

    /// The resource or template of a server that has this URI here, where it is listed.
    pub(crate) fn resource(&self, offered: &str) -> Option<&Target> {
        self.uris.get(offered)
    }

    /// The tool that was perhaps meant.
    pub(crate) fn tool_hint(&self, asked: &str) -> String {
        hint(asked, self.tool_names.all())
    }

    /// The prompt that was perhaps meant.
    pub(crate) fn prompt_hint(&self, asked: &str) -> String {
        hint(asked, self.prompt_names.all())
    }
}

fn hint<'a>(asked: &str, known: impl Iterator<Item = &'a str>) -> String {
    let meant = hermes_model::suggest::nearest(asked, known);
    meant.map_or_else(String::new, |meant| format!("; did you mean '{meant}'?"))
}

fn target(server: usize, item: &Item) -> Target {
    Target { server, own: item.own.clone(), read_only: item.read_only, has_schema: item.has_schema }
}

/// The document of a tool or prompt under a name of this host. A name in which the policy found something is made of what
/// may be shown of it.
fn named(names: &mut Names<Option<Target>>, server: usize, name: &ServerName, item: &Item) -> Value {
    let shown = item.shown.get("name").and_then(Value::as_str).unwrap_or_default();
    let mut document = item.shown.clone();
    document["name"] = Value::String(names.give(name.as_str(), shown, Some(target(server, item))));
    document
}
