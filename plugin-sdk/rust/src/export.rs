//! The glue between an exported component and the plugin's struct.
