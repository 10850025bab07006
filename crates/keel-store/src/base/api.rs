//! What the layers above see of the base tree.
