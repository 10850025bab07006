# Prints the 22 queries of HammerDB's TPROC-H for SQL Server, made by HammerDB's own procedures with parameters it draws:
#   cd HAMMERDB_HOME && tclsh8.6 queries.tcl [scale factor]
# HammerDB prints them itself in its verbose mode, but then every row of every result too, a word a line.
set scale [expr {$argc > 0 ? [lindex $argv 0] : 1}]
::tcl::tm::path add modules
package require tpchcommon
namespace import tpchcommon::*
set file [open src/mssqlserver/mssqlsolap.tcl]
set text [read $file]
close $file
set from [string first "proc set_query" $text]
set to [string first "#TPCH QUERY SETS PROCEDURE" $text]
eval [string range $text $from [expr {$to - 1}]]
for {set query 1} {$query <= 22} {incr query} {
    puts "Executing Query $query "
    puts [sub_query $query $scale 2 0]
}
