//! A page of Markdown as blocks of text: paragraphs, items of lists, cells of tables, headings. Code blocks are left out.

/// Text that sentences do not cross the ends of.
#[derive(Debug, PartialEq, Eq)]
pub struct Block {
    /// Its first line, counted from 1.
    pub line: usize,
    pub text: String,
}

/// The blocks of a page, from top to bottom.
pub fn blocks(page: &str) -> Vec<Block> {
    let mut reader = Reader::default();
    for (index, line) in page.lines().enumerate() {
        reader.read(index + 1, line);
    }
    reader.end_block();
    reader.blocks
}

#[derive(Default)]
struct Reader {
    blocks: Vec<Block>,
    /// The lines of a paragraph or an item so far.
    open: Option<Block>,
    is_code: bool,
}

impl Reader {
    fn read(&mut self, number: usize, line: &str) {
        let is_indented_code = self.open.is_none() && line.starts_with("    ");
        let line = line.trim();
        if line.starts_with("```") {
            self.end_block();
            self.is_code = !self.is_code;
        } else if self.is_code || is_indented_code {
        } else if line.is_empty() || line.starts_with('<') {
            self.end_block();
        } else if line.starts_with('#') {
            self.end_block();
            self.add(number, line.trim_start_matches('#'));
            self.end_block();
        } else if line.starts_with('|') {
            self.end_block();
            self.add_row(number, line);
        } else if let Some(item) = item(line) {
            self.end_block();
            self.add(number, item);
        } else {
            self.add(number, line.trim_start_matches("> "));
        }
    }

    fn add(&mut self, line: usize, text: &str) {
        match &mut self.open {
            Some(block) => {
                block.text.push('\n');
                block.text.push_str(text);
            }
            None => {
                self.open = Some(Block {
                    line,
                    text: text.trim().to_owned(),
                });
            }
        }
    }

    /// Each cell is a block.
    fn add_row(&mut self, number: usize, row: &str) {
        for cell in row.replace("\\|", " ").split('|') {
            if cell.contains(char::is_alphabetic) {
                self.add(number, cell);
                self.end_block();
            }
        }
    }

    fn end_block(&mut self) {
        self.blocks.extend(self.open.take());
    }
}

/// The text of a line that begins an item of a list.
fn item(line: &str) -> Option<&str> {
    let unnumbered = line.strip_prefix("- ").or_else(|| line.strip_prefix("* "));
    unnumbered.or_else(|| {
        let rest = line.trim_start_matches(|it: char| it.is_ascii_digit());
        let is_numbered = rest.len() < line.len();
        rest.strip_prefix(". ").filter(|_| is_numbered)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(page: &str) -> Vec<String> {
        blocks(page).into_iter().map(|block| block.text).collect()
    }

    #[test]
    fn headings_paragraphs_and_items_are_blocks() {
        let page = "# Title\nOne\ntwo\n\nThree\n- four\n  five\n2. six\n";
        assert_eq!(
            texts(page),
            ["Title", "One\ntwo", "Three", "four\nfive", "six"]
        );
    }

    #[test]
    fn each_cell_of_a_table_is_a_block() {
        assert_eq!(texts("| a | b |\n|---|---|\n| c | 1 |\n"), ["a", "b", "c"]);
    }

    #[test]
    fn code_blocks_are_left_out() {
        assert_eq!(texts("One\n```sql\nSELECT 1\n```\nTwo\n"), ["One", "Two"]);
        assert_eq!(texts("One:\n\n    make bench\n\nTwo\n"), ["One:", "Two"]);
    }

    #[test]
    fn a_block_knows_its_first_line() {
        let lines: Vec<usize> = blocks("One\ntwo\n\nThree")
            .iter()
            .map(|it| it.line)
            .collect();
        assert_eq!(lines, [1, 4]);
    }
}
