//! Host functions that sandboxed code may call.
