//! Agents and servers through the gateway: what is listed, called, shown, told and refused.

mod agent;
mod fake;

mod calls;
mod carriers;
mod lists;
mod sizes;
