# Prints the statements with which HammerDB makes TPROC-H's tables (`tables`) or its keys and indexes (`indexes`) for SQL
# Server, made by HammerDB's own procedures, a statement a line:
#   cd HAMMERDB_HOME && tclsh8.6 schema.tcl tables|indexes
set file [open src/mssqlserver/mssqlsolap.tcl]
set text [read $file]
close $file
# Each begins its line and ends with the next.
foreach name {CreateTables CreateIndexes} {
    set from [string first "\nproc $name " $text]
    set to [string first "\nproc " $text [expr {$from + 1}]]
    eval [string range $text $from [expr {$to - 1}]]
}
rename puts say
proc puts {args} {}
proc connection {method statement} { say $statement }
switch [lindex $argv 0] {
    tables { CreateTables connection false false false }
    indexes { CreateIndexes connection 2 false false false }
}
