//! Counts what a component holds before anything is allocated or compiled for it, so that a small file cannot ask for
//! gigabytes or for minutes.
//!
//! It reads headers, locals and branch tables, and keeps nothing but numbers. It must never say that a file is sound:
//! the validator does.

use wasmparser::{BinaryReaderError, FunctionBody, Operator, Parser, Payload};

use crate::problem::{Code, Problem};

/// How deep modules and components may stand within each other. Composed components have three or four levels.
const DEPTH_MAX: u64 = 16;
/// The most modules and components within a component. An interpreter with its libraries has some dozen.
const PARTS_MAX: u64 = 500;
/// The most bytes of what describes a component itself (types, imports, exports, aliases, instances): each may become a
/// hundred bytes of the host. The largest seen has some hundred KiB.
const DESCRIPTION_MAX: u64 = 1024 * 1024;
/// The most types, imports, exports, functions and globals of all modules together. CPython has some 50,000.
const ITEMS_MAX: u64 = 500_000;
/// The largest function in bytes: the time to compile one grows faster than its size. CPython's largest has 0.2 MiB.
const FUNCTION_MAX: u64 = 1024 * 1024;
/// The most locals of all functions together: a few bytes can declare 50,000.
const LOCALS_MAX: u64 = 4_000_000;
/// The most targets of all branch tables together: each is a byte in the file and an edge for the compiler.
const TARGETS_MAX: u64 = 1_000_000;

/// What is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Census {
    depth: u64,
    deepest: u64,
    parts: u64,
    description: u64,
    items: u64,
    largest_function: u64,
    locals: u64,
    targets: u64,
}

/// What of a component is over its limit. Nothing for one that is damaged: the validator says that better.
pub(crate) fn over(bytes: &[u8]) -> Option<Problem> {
    let mut census = Census::default();
    for payload in Parser::new(0).parse_all(bytes) {
        let counted = payload.and_then(|payload| census.add(&payload));
        if let Some((subject, what, max)) = census.over() {
            return Some(Problem::new(
                Code::Limits,
                subject,
                format!("it holds {what}, more than the {max} a plugin may have"),
                "build it smaller; if it is what an ordinary toolchain wrote, report it to hermes",
            ));
        }
        if counted.is_err() {
            return None;
        }
    }
    None
}

impl Census {
    fn add(&mut self, payload: &Payload<'_>) -> Result<(), BinaryReaderError> {
        match payload {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => {
                self.parts += 1;
                self.depth += 1;
                self.deepest = self.deepest.max(self.depth);
            }
            Payload::End(_) => self.depth = self.depth.saturating_sub(1),
            Payload::TypeSection(section) => self.items += u64::from(section.count()),
            Payload::ImportSection(section) => self.items += u64::from(section.count()),
            Payload::FunctionSection(section) => self.items += u64::from(section.count()),
            Payload::GlobalSection(section) => self.items += u64::from(section.count()),
            Payload::ExportSection(section) => self.items += u64::from(section.count()),
            Payload::CodeSectionEntry(body) => self.function(body)?,
            Payload::InstanceSection(section) => self.describe(section.range()),
            Payload::CoreTypeSection(section) => self.describe(section.range()),
            Payload::ComponentInstanceSection(section) => self.describe(section.range()),
            Payload::ComponentAliasSection(section) => self.describe(section.range()),
            Payload::ComponentTypeSection(section) => self.describe(section.range()),
            Payload::ComponentCanonicalSection(section) => self.describe(section.range()),
            Payload::ComponentImportSection(section) => self.describe(section.range()),
            Payload::ComponentExportSection(section) => self.describe(section.range()),
            _ => {}
        }
        Ok(())
    }

    fn describe(&mut self, range: std::ops::Range<usize>) {
        self.description += range.len() as u64;
    }

    fn function(&mut self, body: &FunctionBody<'_>) -> Result<(), BinaryReaderError> {
        self.largest_function = self.largest_function.max(body.range().len() as u64);
        for declared in body.get_locals_reader()? {
            self.locals += u64::from(declared?.0);
        }
        // One that is refused for its size need not be read.
        if self.over().is_some() {
            return Ok(());
        }
        for operator in body.get_operators_reader()? {
            if let Operator::BrTable { targets } = operator? {
                self.targets += u64::from(targets.len()) + 1;
            }
        }
        Ok(())
    }

    /// The first number over its limit: what it is about, the number in words, and the limit.
    fn over(&self) -> Option<(&'static str, String, u64)> {
        let counted = [
            ("depth", self.deepest, "levels of modules and components", DEPTH_MAX),
            ("parts", self.parts, "modules and components", PARTS_MAX),
            ("description", self.description, "bytes of types, imports and exports", DESCRIPTION_MAX),
            ("items", self.items, "types, imports, exports, functions and globals", ITEMS_MAX),
            ("function", self.largest_function, "bytes in one function", FUNCTION_MAX),
            ("locals", self.locals, "local variables", LOCALS_MAX),
            ("targets", self.targets, "targets of branch tables", TARGETS_MAX),
        ];
        let (subject, count, what, max) = counted.into_iter().find(|(_, count, _, max)| count > max)?;
        Some((subject, format!("{count} {what}"), max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::section::{COMPONENT_HEADER, MODULE_HEADER};

    /// A section with its length.
    fn section(id: u8, body: &[u8]) -> Vec<u8> {
        [&[id][..], &leb(body.len()), body].concat()
    }

    fn leb(mut value: usize) -> Vec<u8> {
        let mut out = Vec::new();
        loop {
            let byte = (value & 0x7f) as u8;
            value >>= 7;
            out.push(if value == 0 { byte } else { byte | 0x80 });
            if value == 0 {
                return out;
            }
        }
    }

    /// A component with one module whose code section holds these bodies.
    fn with_functions(bodies: &[Vec<u8>]) -> Vec<u8> {
        let mut code = leb(bodies.len());
        for body in bodies {
            code.extend(leb(body.len()));
            code.extend(body);
        }
        let functions = [leb(bodies.len()), vec![0; bodies.len()]].concat();
        let module =
            [&MODULE_HEADER[..], &section(1, &[1, 0x60, 0, 0]), &section(3, &functions), &section(10, &code)].concat();
        [&COMPONENT_HEADER[..], &section(1, &module)].concat()
    }

    fn subject(bytes: &[u8]) -> Option<String> {
        over(bytes).map(|problem| problem.subject)
    }

    #[test]
    fn the_bundled_plugins_are_far_from_every_limit() {
        for name in crate::bundled::names() {
            let (bytes, _) = crate::bundled::component(&name).unwrap();
            let mut census = Census::default();
            for payload in Parser::new(0).parse_all(bytes) {
                census.add(&payload.unwrap()).unwrap();
            }
            assert!(census.items > 100 && census.items < ITEMS_MAX / 20, "{census:?}");
            assert!(census.locals < LOCALS_MAX / 20 && census.targets < TARGETS_MAX / 20, "{census:?}");
            assert!(census.deepest == 1 && census.description < DESCRIPTION_MAX / 20, "{census:?}");
            assert!(census.largest_function < FUNCTION_MAX / 10, "{census:?}");
        }
    }

    #[test]
    fn nesting_is_refused_at_its_limit() {
        let nested = |levels: usize| {
            (0..levels)
                .fold(COMPONENT_HEADER.to_vec(), |inner, _| [&COMPONENT_HEADER[..], &section(4, &inner)].concat())
        };
        assert_eq!(subject(&nested(16)), None);
        assert_eq!(subject(&nested(17)).as_deref(), Some("depth"));
        assert_eq!(subject(&nested(2000)).as_deref(), Some("depth"));
    }

    #[test]
    fn a_few_bytes_cannot_declare_millions() {
        // 50,000 locals in seven bytes, a hundred times.
        let locals = [&[1][..], &leb(50_000), &[0x7f, 0x0b]].concat();
        assert_eq!(subject(&with_functions(&vec![locals.clone(); 80])), None);
        assert_eq!(subject(&with_functions(&vec![locals; 81])).as_deref(), Some("locals"));
        // A branch table whose every target is one byte.
        let table = [&[0, 0x41, 0, 0x0e][..], &leb(500_000), &vec![0; 500_001], &[0x0b]].concat();
        assert_eq!(subject(&with_functions(std::slice::from_ref(&table))), None);
        assert_eq!(subject(&with_functions(&[table.clone(), table])).as_deref(), Some("targets"));
        let long = [&[0][..], &vec![1; 1024 * 1024], &[0x0b]].concat();
        assert_eq!(subject(&with_functions(&[long])).as_deref(), Some("function"));
    }

    #[test]
    fn what_a_section_claims_is_believed_before_it_is_read() {
        let claimed = [&COMPONENT_HEADER[..], &section(1, &[&MODULE_HEADER[..], &section(2, &leb(900_000))].concat())];
        assert_eq!(subject(&claimed.concat()).as_deref(), Some("items"));
        let types = [&COMPONENT_HEADER[..], &section(7, &vec![0x7f; 1024 * 1024 + 1])].concat();
        assert_eq!(subject(&types).as_deref(), Some("description"));
        let parts = section(4, &COMPONENT_HEADER).repeat(501);
        assert_eq!(subject(&[&COMPONENT_HEADER[..], &parts].concat()).as_deref(), Some("parts"));
    }

    #[test]
    fn damage_is_left_to_the_validator() {
        assert_eq!(subject(b"\0asm\x0d\0\x01\0\x01\xff"), None);
        assert_eq!(subject(b""), None);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_counted_without_a_panic(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..400)) {
            let _ = over(&[&COMPONENT_HEADER[..], &bytes].concat());
        }
    }
}
