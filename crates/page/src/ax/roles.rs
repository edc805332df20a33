//! Roles and their names.

macro_rules! roles {
    ($( $variant:ident $name:literal, )*) => {
        /// Role of a node: a WAI-ARIA role, or one that browsers add for HTML elements without one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "the words are WAI-ARIA's")]
        #[repr(u8)]
        pub enum Role { $( $variant, )* }

        impl Role {
            /// Every role.
            pub const ALL: &[Role] = &[ $( Role::$variant, )* ];

            /// Name as it is printed.
            pub fn name(self) -> &'static str {
                match self { $( Self::$variant => $name, )* }
            }

            /// Finds a role by its name, ignoring case.
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    $( $name => Some(Self::$variant), )*
                    _ => Self::ALL.iter().copied().find(|role| role.name().eq_ignore_ascii_case(name)),
                }
            }
        }
    };
}

roles! {
    Generic "generic",
    Text "text",
    Link "link",
    ListItem "listitem",
    Button "button",
    Image "img",
    List "list",
    Heading "heading",
    Paragraph "paragraph",
    Cell "cell",
    Row "row",
    Table "table",
    RowGroup "rowgroup",
    TextBox "textbox",
    Option "option",
    CheckBox "checkbox",
    Radio "radio",
    ComboBox "combobox",
    WebArea "webarea",
    Iframe "iframe",
    Alert "alert",
    AlertDialog "alertdialog",
    Application "application",
    Article "article",
    Banner "banner",
    BlockQuote "blockquote",
    Caption "caption",
    Code "code",
    ColumnHeader "columnheader",
    Comment "comment",
    Complementary "complementary",
    ContentInfo "contentinfo",
    Definition "definition",
    Deletion "deletion",
    Dialog "dialog",
    Directory "directory",
    Document "document",
    Emphasis "emphasis",
    Feed "feed",
    Figure "figure",
    Form "form",
    Grid "grid",
    GridCell "gridcell",
    Group "group",
    Insertion "insertion",
    LineBreak "linebreak",
    ListBox "listbox",
    Log "log",
    Main "main",
    Mark "mark",
    Marquee "marquee",
    Math "math",
    Menu "menu",
    MenuBar "menubar",
    MenuItem "menuitem",
    MenuItemCheckBox "menuitemcheckbox",
    MenuItemRadio "menuitemradio",
    Meter "meter",
    Navigation "navigation",
    Note "note",
    ProgressBar "progressbar",
    RadioGroup "radiogroup",
    Region "region",
    RowHeader "rowheader",
    ScrollBar "scrollbar",
    Search "search",
    SearchBox "searchbox",
    Separator "separator",
    Slider "slider",
    SpinButton "spinbutton",
    Status "status",
    Strong "strong",
    Subscript "subscript",
    Suggestion "suggestion",
    Superscript "superscript",
    Switch "switch",
    Tab "tab",
    TabList "tablist",
    TabPanel "tabpanel",
    Term "term",
    Time "time",
    Timer "timer",
    ToolBar "toolbar",
    Tooltip "tooltip",
    Tree "tree",
    TreeGrid "treegrid",
    TreeItem "treeitem",
    GraphicsDocument "graphics-document",
    GraphicsObject "graphics-object",
    GraphicsSymbol "graphics-symbol",
    // HTML elements without an ARIA role, named as in Chromium.
    Abbr "abbr",
    Audio "audio",
    Canvas "canvas",
    ColorWell "colorwell",
    Date "date",
    DateTime "datetime",
    DescriptionList "descriptionlist",
    Details "details",
    DisclosureTriangle "disclosuretriangle",
    EmbeddedObject "embeddedobject",
    FigureCaption "figcaption",
    File "file",
    InputTime "inputtime",
    Label "label",
    Legend "legend",
    PluginObject "pluginobject",
    Ruby "ruby",
    RubyAnnotation "rubyannotation",
    SectionFooter "sectionfooter",
    SectionHeader "sectionheader",
    SvgRoot "svg",
    Video "video",
    ListMarker "listmarker",
    DocAbstract "doc-abstract",
    DocAcknowledgments "doc-acknowledgments",
    DocAfterword "doc-afterword",
    DocAppendix "doc-appendix",
    DocBacklink "doc-backlink",
    DocBiblioentry "doc-biblioentry",
    DocBibliography "doc-bibliography",
    DocBiblioref "doc-biblioref",
    DocChapter "doc-chapter",
    DocColophon "doc-colophon",
    DocConclusion "doc-conclusion",
    DocCover "doc-cover",
    DocCredit "doc-credit",
    DocCredits "doc-credits",
    DocDedication "doc-dedication",
    DocEndnote "doc-endnote",
    DocEndnotes "doc-endnotes",
    DocEpigraph "doc-epigraph",
    DocEpilogue "doc-epilogue",
    DocErrata "doc-errata",
    DocExample "doc-example",
    DocFootnote "doc-footnote",
    DocForeword "doc-foreword",
    DocGlossary "doc-glossary",
    DocGlossref "doc-glossref",
    DocIndex "doc-index",
    DocIntroduction "doc-introduction",
    DocNoteref "doc-noteref",
    DocNotice "doc-notice",
    DocPagebreak "doc-pagebreak",
    DocPagefooter "doc-pagefooter",
    DocPageheader "doc-pageheader",
    DocPagelist "doc-pagelist",
    DocPart "doc-part",
    DocPreface "doc-preface",
    DocPrologue "doc-prologue",
    DocPullquote "doc-pullquote",
    DocQna "doc-qna",
    DocSubtitle "doc-subtitle",
    DocTip "doc-tip",
    DocToc "doc-toc",
    Unknown "unknown",
}

#[cfg(test)]
mod tests {
    use super::Role;

    #[test]
    fn every_role_is_found_by_its_name() {
        for role in Role::ALL {
            assert_eq!(Role::named(role.name()), Some(*role));
            assert_eq!(Role::named(&role.name().to_uppercase()), Some(*role));
        }
        assert_eq!(Role::named("no such role"), None);
    }
}
