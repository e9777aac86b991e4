//! What a component imports and exports, with the shapes of every function, read from its bytes without running or
//! compiling anything.
//!
//! The same reading serves the contract this host was built with, so that the two can be compared item by item.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use wasmparser::component_types::{
    ComponentDefinedType, ComponentEntityType, ComponentFuncTypeId, ComponentInstanceTypeId, ComponentTypeId,
    ComponentValType,
};
use wasmparser::{Parser, Payload, PrimitiveValType, Validator, WasmFeatures};

/// A type, as the component model compares it: by structure. Type names are not part of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Shape {
    /// `bool`, `u32`, `string` and the like, by its name in WIT.
    Primitive(String),
    /// Fields in order.
    Record(Vec<(String, Shape)>),
    /// Cases in order.
    Variant(Vec<(String, Option<Shape>)>),
    /// Names in order.
    Enum(Vec<String>),
    /// Names in order.
    Flags(Vec<String>),
    /// Any number of one type.
    List(Box<Shape>),
    /// Types in order.
    Tuple(Vec<Shape>),
    /// Maybe one.
    Option(Box<Shape>),
    /// A success or a failure.
    Result(Option<Box<Shape>>, Option<Box<Shape>>),
    /// Something the contract does not use (resources, streams, futures, maps).
    Other(String),
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Primitive(name) | Self::Other(name) => f.write_str(name),
            Self::Record(fields) => write!(f, "record of {} fields", fields.len()),
            Self::Variant(cases) => write!(f, "variant of {} cases", cases.len()),
            Self::Enum(names) => write!(f, "enum of {} names", names.len()),
            Self::Flags(names) => write!(f, "flags of {} names", names.len()),
            Self::List(item) => write!(f, "list<{item}>"),
            Self::Tuple(items) => write!(f, "tuple of {}", items.len()),
            Self::Option(item) => write!(f, "option<{item}>"),
            Self::Result(_, _) => f.write_str("result"),
        }
    }
}

/// A function's parameters and result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Function {
    /// Names and types in order.
    pub params: Vec<(String, Shape)>,
    /// The result, if there is one.
    pub result: Option<Shape>,
}

/// The functions of an interface. One with types only has none.
pub type Interface = BTreeMap<String, Function>;

/// What a component imports and exports at its top level.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Surface {
    /// Interfaces by their full name, `package:name/interface@version`.
    pub imports: BTreeMap<String, Interface>,
    /// Interfaces by their full name.
    pub exports: BTreeMap<String, Interface>,
    /// Imports that are not interfaces: bare functions, modules, values.
    pub loose_imports: Vec<String>,
}

/// How much of types is written out for one component, in shapes and bytes of names together. A type made of types made
/// of types is a few bytes, and millions of shapes; the whole contract is below 2,000.
const SHAPES_MAX: usize = 256 * 1024;

/// Why a file has no surface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SurfaceError {
    /// Its types, written out, are more than [`SHAPES_MAX`].
    TooLarge,
    /// The file is damaged, at this byte, for this reason.
    Invalid(String),
    /// The file is sound and needs a feature this host does not enable.
    Feature(String),
}

/// The features of WebAssembly this host enables, exactly those of the engine: the standard ones without threads,
/// garbage collection, 64-bit memories, exceptions and component-model asynchrony.
pub fn features() -> WasmFeatures {
    WasmFeatures::MUTABLE_GLOBAL
        | WasmFeatures::SATURATING_FLOAT_TO_INT
        | WasmFeatures::SIGN_EXTENSION
        | WasmFeatures::REFERENCE_TYPES
        | WasmFeatures::MULTI_VALUE
        | WasmFeatures::BULK_MEMORY
        | WasmFeatures::SIMD
        | WasmFeatures::RELAXED_SIMD
        | WasmFeatures::FLOATS
        | WasmFeatures::MULTI_MEMORY
        | WasmFeatures::TAIL_CALL
        | WasmFeatures::EXTENDED_CONST
        | WasmFeatures::CALL_INDIRECT_OVERLONG
        | WasmFeatures::BULK_MEMORY_OPT
        | WasmFeatures::GC_TYPES
        | WasmFeatures::COMPONENT_MODEL
}

/// Validates a component and reads its surface.
///
/// # Errors
/// The component is damaged, or needs a feature that is not enabled.
pub fn read(bytes: &[u8]) -> Result<Surface, SurfaceError> {
    let types = Validator::new_with_features(features()).validate_all(bytes).map_err(|error| {
        let said = format!("{} (at byte {})", error.message(), error.offset());
        // The same file under every feature: if it is sound there, only a feature is missing.
        match Validator::new_with_features(WasmFeatures::all()).validate_all(bytes) {
            Ok(_) => SurfaceError::Feature(said),
            Err(_) => SurfaceError::Invalid(said),
        }
    })?;
    let types = types.as_ref();
    let writer = Writer::new(types);
    let mut surface = Surface::default();
    let mut depth = 0usize;
    for payload in Parser::new(0).parse_all(bytes) {
        let invalid = |error: wasmparser::BinaryReaderError| SurfaceError::Invalid(error.message().to_owned());
        match payload.map_err(invalid)? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    let name = import.map_err(invalid)?.name.name.to_owned();
                    match types.component_item_for_import(&name).map(|item| item.ty) {
                        Some(ComponentEntityType::Instance(id)) => {
                            surface.imports.insert(name, writer.interface(id));
                        }
                        Some(ComponentEntityType::Type { .. }) | None => {}
                        Some(_) => surface.loose_imports.push(name),
                    }
                }
            }
            Payload::ComponentExportSection(section) if depth == 0 => {
                for export in section {
                    let name = export.map_err(invalid)?.name.name.to_owned();
                    if let Some(ComponentEntityType::Instance(id)) =
                        types.component_item_for_export(&name).map(|item| item.ty)
                    {
                        surface.exports.insert(name, writer.interface(id));
                    }
                }
            }
            _ => {}
        }
        if writer.left.get() == 0 {
            return Err(SurfaceError::TooLarge);
        }
    }
    Ok(surface)
}

/// Reads the surface of a world from its encoded form (the `COMPONENT_TYPE` of generated bindings), in which the world
/// is a component type within a component type.
///
/// # Errors
/// The bytes are not an encoded world.
pub fn read_world(bytes: &[u8]) -> Result<Surface, SurfaceError> {
    let not_a_world = || SurfaceError::Invalid("not an encoded world".to_owned());
    let types = Validator::new_with_features(WasmFeatures::all())
        .validate_all(bytes)
        .map_err(|error| SurfaceError::Invalid(error.message().to_owned()))?;
    let types = types.as_ref();
    for index in 0..types.component_type_count() {
        let wasmparser::component_types::ComponentAnyTypeId::Component(id) = types.component_any_type_at(index) else {
            continue;
        };
        if let Some(world) = world_in(types, id) {
            return Ok(of_component_type(types, world));
        }
    }
    Err(not_a_world())
}

/// The innermost component type that has instances among its imports or exports.
fn world_in(types: wasmparser::types::TypesRef<'_>, id: ComponentTypeId) -> Option<ComponentTypeId> {
    let component = &types[id];
    let mut items = component.exports.values();
    if component.imports.is_empty()
        && let (Some(only), None) = (items.next(), items.next())
        && let ComponentEntityType::Type { referenced, .. } = only.ty
        && let wasmparser::component_types::ComponentAnyTypeId::Component(inner) = referenced
    {
        return world_in(types, inner);
    }
    if component.imports.is_empty()
        && let Some(ComponentEntityType::Component(inner)) = component.exports.values().next().map(|item| item.ty)
    {
        return world_in(types, inner);
    }
    let instances = component.imports.values().chain(component.exports.values());
    instances.map(|item| item.ty).any(|ty| matches!(ty, ComponentEntityType::Instance(_))).then_some(id)
}

fn of_component_type(types: wasmparser::types::TypesRef<'_>, id: ComponentTypeId) -> Surface {
    let component = &types[id];
    let writer = Writer::new(types);
    let instances = |items: &mut dyn Iterator<Item = (&String, &wasmparser::component_types::ComponentItem)>| {
        items
            .filter_map(|(name, item)| match item.ty {
                ComponentEntityType::Instance(id) => Some((name.clone(), writer.interface(id))),
                _ => None,
            })
            .collect()
    };
    Surface {
        imports: instances(&mut component.imports.iter()),
        exports: instances(&mut component.exports.iter()),
        loose_imports: Vec::new(),
    }
}

/// Writes types out, until it has written enough.
struct Writer<'a> {
    types: wasmparser::types::TypesRef<'a>,
    left: Cell<usize>,
}

impl<'a> Writer<'a> {
    fn new(types: wasmparser::types::TypesRef<'a>) -> Self {
        Self { types, left: Cell::new(SHAPES_MAX) }
    }

    /// Takes the cost of a node with this name; whether there was that much left.
    fn spend(&self, name: &str) -> bool {
        let left = self.left.get().checked_sub(1 + name.len());
        self.left.set(left.unwrap_or(0));
        left.is_some()
    }

    fn interface(&self, id: ComponentInstanceTypeId) -> Interface {
        let functions = self.types[id].exports.iter().filter_map(|(name, item)| match item.ty {
            ComponentEntityType::Func(id) if self.spend(name) => Some((name.clone(), self.function(id))),
            _ => None,
        });
        functions.collect()
    }

    fn function(&self, id: ComponentFuncTypeId) -> Function {
        let function = &self.types[id];
        Function {
            params: self.named(function.params.iter().map(|(name, ty)| (name.as_str(), *ty)), Self::shape),
            result: function.result.map(|ty| self.shape(ty)),
        }
    }

    /// Names with what stands behind each, as far as there is room.
    fn named<'n, T, U>(
        &self,
        items: impl Iterator<Item = (&'n str, T)>,
        write: impl Fn(&Self, T) -> U,
    ) -> Vec<(String, U)> {
        let written = items.map_while(|(name, item)| self.spend(name).then(|| (name.to_owned(), write(self, item))));
        written.collect()
    }

    fn names<'n>(&self, names: impl Iterator<Item = &'n str>) -> Vec<String> {
        names.map_while(|name| self.spend(name).then(|| name.to_owned())).collect()
    }

    fn shape(&self, ty: ComponentValType) -> Shape {
        if !self.spend("") {
            return Shape::Other("more than this hermes reads".to_owned());
        }
        let id = match ty {
            ComponentValType::Primitive(primitive) => return Shape::Primitive(primitive_name(primitive)),
            ComponentValType::Type(id) => id,
        };
        let boxed = |ty: ComponentValType| Box::new(self.shape(ty));
        match &self.types[id] {
            ComponentDefinedType::Primitive(primitive) => Shape::Primitive(primitive_name(*primitive)),
            ComponentDefinedType::Record(record) => {
                Shape::Record(self.named(record.fields.iter().map(|(name, ty)| (name.as_str(), *ty)), Self::shape))
            }
            ComponentDefinedType::Variant(variant) => Shape::Variant(
                self.named(variant.cases.iter().map(|(name, case)| (name.as_str(), case.ty)), |writer, ty| {
                    ty.map(|ty| writer.shape(ty))
                }),
            ),
            ComponentDefinedType::Enum(names) => Shape::Enum(self.names(names.iter().map(|name| name.as_str()))),
            ComponentDefinedType::Flags(names) => Shape::Flags(self.names(names.iter().map(|name| name.as_str()))),
            ComponentDefinedType::List { element, .. } => Shape::List(boxed(*element)),
            ComponentDefinedType::Tuple(tuple) => Shape::Tuple(tuple.types.iter().map(|ty| self.shape(*ty)).collect()),
            ComponentDefinedType::Option { ty, .. } => Shape::Option(boxed(*ty)),
            ComponentDefinedType::Result { ok, err, .. } => Shape::Result(ok.map(boxed), err.map(boxed)),
            other => Shape::Other(other_name(other).to_owned()),
        }
    }
}

/// A type that no contract uses, in words.
fn other_name(ty: &ComponentDefinedType) -> &'static str {
    match ty {
        ComponentDefinedType::Own(_) => "a resource",
        ComponentDefinedType::Borrow(_) => "a borrowed resource",
        ComponentDefinedType::FixedLengthList { .. } => "a list of fixed length",
        ComponentDefinedType::Map { .. } => "a map",
        ComponentDefinedType::Future { .. } => "a future",
        ComponentDefinedType::Stream { .. } => "a stream",
        _ => "another type",
    }
}

fn primitive_name(primitive: PrimitiveValType) -> String {
    primitive.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_file_that_stands_for_a_huge_type_is_refused() {
        // Each record holds the one before twice: 2^14 leaves, behind as many long names.
        let name = "a".repeat(1000);
        let mut text = "(component (import \"a:b/c@1.0.0\" (instance\n(type (record (field \"x\" u8)))".to_owned();
        text += "(export \"t0\" (type (eq 0)))\n";
        for level in 1..=14 {
            let below = 2 * level - 1;
            text += &format!("(type (record (field \"{name}\" {below}) (field \"b\" {below})))\n");
            text += &format!("(export \"t{level}\" (type (eq {})))\n", 2 * level);
        }
        text += "(type (func (param \"p\" 29)))(export \"f\" (func (type 30))))))";
        let bytes = wat::parse_str(&text).unwrap();
        assert!(bytes.len() < 64 * 1024);
        assert_eq!(read(&bytes).err(), Some(SurfaceError::TooLarge));
    }
}
