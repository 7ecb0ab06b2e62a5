//! What git says about a project, as far as it can be read without starting git.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Git's own small files are shorter.
const MAX_BYTES: u64 = 4 * 1024;

/// The branch that is checked out. None without a repository, with a detached head, or with a name that is no text.
pub fn current_branch(root: &Path) -> Option<String> {
    let head = read_small(&git_folder(root)?.join("HEAD"))?;
    let branch = head.trim_end().strip_prefix("ref: refs/heads/")?;
    (!branch.is_empty()).then(|| branch.to_owned())
}

/// The folder of git's data about this working tree, which is a file that points elsewhere in additional ones.
fn git_folder(root: &Path) -> Option<PathBuf> {
    let found = root.ancestors().map(|folder| folder.join(".git")).find(|path| path.exists())?;
    if found.is_dir() {
        return Some(found);
    }
    let pointer = read_small(&found)?;
    let target = pointer.trim_end().strip_prefix("gitdir: ")?;
    Some(found.parent()?.join(target))
}

fn read_small(path: &Path) -> Option<String> {
    let mut text = String::new();
    File::open(path).ok()?.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_branch_is_read_where_there_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("project/below");
        let tree = folder.path().join("tree");
        fs::create_dir_all(folder.path().join("project/.git/worktrees/tree")).unwrap();
        fs::create_dir_all(&project).unwrap();
        fs::create_dir_all(&tree).unwrap();
        fs::write(folder.path().join("project/.git/HEAD"), "ref: refs/heads/feature/user cards\n").unwrap();
        assert_eq!(current_branch(&project).as_deref(), Some("feature/user cards"));

        fs::write(tree.join(".git"), "gitdir: ../project/.git/worktrees/tree\n").unwrap();
        fs::write(folder.path().join("project/.git/worktrees/tree/HEAD"), "ref: refs/heads/other\n").unwrap();
        assert_eq!(current_branch(&tree).as_deref(), Some("other"));

        fs::write(folder.path().join("project/.git/HEAD"), "9fceb02d0ae598e95dc970b74767f19372d61af8\n")
            .unwrap();
        assert_eq!(current_branch(&project), None, "a detached head");
        fs::write(folder.path().join("project/.git/HEAD"), [0xff, 0xfe]).unwrap();
        assert_eq!(current_branch(&project), None);
    }
}
