//! From a tool's rows and columns to our text, and from our paths to its arguments.
//!
//! Only files that were asked about are read; a place that the text does not have stays a place without a span, it is never moved.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use grail_code::{Position, Source, Span};
use tempfile::NamedTempFile;

use super::LayerContext;
use crate::tools::ToolProblem;

/// Lists up to this many bytes are arguments; longer ones go through a file. The smallest limit of the systems we know is 32 KiB.
const MAX_ARGUMENT_BYTES: usize = 16 * 1024;

/// The files a tool was asked about, read when first needed.
pub(super) struct Places<'context> {
    context: &'context LayerContext,
    files: BTreeMap<Arc<str>, Option<Option<Source>>>,
}

/// Paths in the form that goes on a command line. A list in a file lives as long as this.
pub(super) struct PathArguments {
    pub(super) arguments: Vec<OsString>,
    _list: Option<NamedTempFile>,
}

impl<'context> Places<'context> {
    /// `paths` are relative to the root, with `/`.
    pub(super) fn new(context: &'context LayerContext, paths: &[Arc<str>]) -> Self {
        Self { context, files: paths.iter().map(|path| (path.clone(), None)).collect() }
    }

    /// A path as the tool wrote it, relative to the root where it lies below it.
    pub(super) fn relative(&self, written: &str) -> Arc<str> {
        let path = Path::new(written);
        let path = path.strip_prefix(&self.context.root).unwrap_or(path);
        let path = path.strip_prefix(".").unwrap_or(path);
        let path = path.to_string_lossy();
        if cfg!(windows) { path.replace('\\', "/").into() } else { path.into() }
    }

    /// The text of a file that was asked about and can be read.
    pub(super) fn source(&mut self, path: &str) -> Option<&Source> {
        let context = self.context;
        let file = self.files.get_mut(path)?;
        file.get_or_insert_with(|| {
            let read = grail_project::read_source(&context.root.join(path), context.max_file_bytes);
            read.ok().map(|file| file.source)
        })
        .as_ref()
    }

    /// The bytes between two positions of a file, if it has both and in this order.
    pub(super) fn span(&mut self, path: &str, start: Position, end: Position) -> Option<Span> {
        let source = self.source(path)?;
        let span = Span::new(source.offset(start)?, source.offset(end)?);
        (span.start <= span.end).then_some(span)
    }
}

impl PathArguments {
    /// Both `ruff` and `ty` read arguments from a file that is named after an `@`. That is why every path begins with `./`: a file
    /// that is called `@list.py` must not be taken for such a list, nor one that is called `--fix` for an option.
    pub(super) fn new(tool: &str, paths: &[Arc<str>]) -> Result<Self, ToolProblem> {
        let refused = |message: String| ToolProblem::Refused { tool: tool.to_owned(), message };
        let written: Vec<String> = paths.iter().map(|path| format!("./{path}")).collect();
        if written.iter().map(|path| path.len() + 1).sum::<usize>() <= MAX_ARGUMENT_BYTES {
            let arguments = written.into_iter().map(OsString::from).collect();
            return Ok(Self { arguments, _list: None });
        }
        if let Some(path) = written.iter().find(|path| path.contains(['\n', '\r'])) {
            return Err(refused(format!("a path with a line break cannot be in a list of files: {path:?}")));
        }
        let write = || {
            let mut list = NamedTempFile::with_prefix("grail-paths-")?;
            list.write_all(written.join("\n").as_bytes())?;
            list.flush()?;
            Ok(list)
        };
        let list = write().map_err(|error: std::io::Error| {
            refused(format!("the list of files could not be written: {error}"))
        })?;
        let mut argument = OsString::from("@");
        argument.push(PathBuf::from(list.path()));
        Ok(Self { arguments: vec![argument], _list: Some(list) })
    }
}
