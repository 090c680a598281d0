//! Brings a model to the normal form that [`model`](crate::model) describes: one pass a file, each a function on the model.

mod constants;
mod dead;
mod dims;
mod initializers;
mod inline;
mod names;
mod raise;
mod sort;

use crate::Options;
use crate::error::Result;
use crate::model::Model;

pub use constants::hoist_constants;
pub use dead::drop_dead;
pub(crate) use dims::for_each_dim;
pub use dims::name_dims;
pub use initializers::separate_initializers;
pub use inline::inline_functions;
pub use names::check_names;
pub use raise::raise_opsets;
pub use sort::sort_nodes;

/// All passes, in order.
pub fn normalize(model: &mut Model, options: &Options) -> Result<()> {
    inline_functions(model)?;
    separate_initializers(model, options.initializers_as_inputs);
    check_names(model)?;
    sort_nodes(model)?;
    raise_opsets(model);
    hoist_constants(model)?;
    options.overrides.apply_shapes(model)?;
    name_dims(model)?;
    options.overrides.apply_dims(model)?;
    drop_dead(model);
    Ok(())
}
