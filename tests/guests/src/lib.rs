//! Plugins for the tests, as the examples of this package: one behaviour a file. The library itself is empty, since a
//! component is made of an example alone.
