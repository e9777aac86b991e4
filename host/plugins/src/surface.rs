//! What a component imports and exports, with the shapes of every function, read from its bytes without running or
//! compiling anything.
//!
//! The same reading serves the contract this host was built with, so that the two can be compared item by item.

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

/// Why a file has no surface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SurfaceError {
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
                            let interface = interface(types, id);
                            surface.imports.insert(name, interface);
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
                        surface.exports.insert(name, interface(types, id));
                    }
                }
            }
            _ => {}
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
    let instances = |items: &mut dyn Iterator<Item = (&String, &wasmparser::component_types::ComponentItem)>| {
        items
            .filter_map(|(name, item)| match item.ty {
                ComponentEntityType::Instance(id) => Some((name.clone(), interface(types, id))),
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

fn interface(types: wasmparser::types::TypesRef<'_>, id: ComponentInstanceTypeId) -> Interface {
    types[id]
        .exports
        .iter()
        .filter_map(|(name, item)| match item.ty {
            ComponentEntityType::Func(id) => Some((name.clone(), function(types, id))),
            _ => None,
        })
        .collect()
}

fn function(types: wasmparser::types::TypesRef<'_>, id: ComponentFuncTypeId) -> Function {
    let function = &types[id];
    Function {
        params: function.params.iter().map(|(name, ty)| (name.to_string(), shape(types, *ty))).collect(),
        result: function.result.map(|ty| shape(types, ty)),
    }
}

fn shape(types: wasmparser::types::TypesRef<'_>, ty: ComponentValType) -> Shape {
    let id = match ty {
        ComponentValType::Primitive(primitive) => return Shape::Primitive(primitive_name(primitive)),
        ComponentValType::Type(id) => id,
    };
    let boxed = |ty: ComponentValType| Box::new(shape(types, ty));
    match &types[id] {
        ComponentDefinedType::Primitive(primitive) => Shape::Primitive(primitive_name(*primitive)),
        ComponentDefinedType::Record(record) => {
            Shape::Record(record.fields.iter().map(|(name, ty)| (name.to_string(), shape(types, *ty))).collect())
        }
        ComponentDefinedType::Variant(variant) => Shape::Variant(
            variant.cases.iter().map(|(name, case)| (name.to_string(), case.ty.map(|ty| shape(types, ty)))).collect(),
        ),
        ComponentDefinedType::Enum(names) => Shape::Enum(names.iter().map(ToString::to_string).collect()),
        ComponentDefinedType::Flags(names) => Shape::Flags(names.iter().map(ToString::to_string).collect()),
        ComponentDefinedType::List { element, .. } => Shape::List(boxed(*element)),
        ComponentDefinedType::Tuple(tuple) => Shape::Tuple(tuple.types.iter().map(|ty| shape(types, *ty)).collect()),
        ComponentDefinedType::Option { ty, .. } => Shape::Option(boxed(*ty)),
        ComponentDefinedType::Result { ok, err, .. } => Shape::Result(ok.map(boxed), err.map(boxed)),
        ComponentDefinedType::Own(_) => Shape::Other("a resource".to_owned()),
        ComponentDefinedType::Borrow(_) => Shape::Other("a borrowed resource".to_owned()),
        ComponentDefinedType::FixedLengthList { .. } => Shape::Other("a list of fixed length".to_owned()),
        ComponentDefinedType::Map { .. } => Shape::Other("a map".to_owned()),
        ComponentDefinedType::Future { .. } => Shape::Other("a future".to_owned()),
        ComponentDefinedType::Stream { .. } => Shape::Other("a stream".to_owned()),
    }
}

fn primitive_name(primitive: PrimitiveValType) -> String {
    primitive.to_string()
}
