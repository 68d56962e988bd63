//! The session variables that MySQL is asked to report.
//!
//! With `*` MySQL reports `statement_id` in every OK packet, and flags every EOF, which cannot report it.

/// Every session variable of MySQL 5.7 to 9.7 that can be set, with commas between. A server skips names that it does
/// not know, with a warning. The proxy asks for its other variables after they were set.
pub(super) const MYSQL: &str = "\
    auto_increment_increment,auto_increment_offset,autocommit,big_tables,\
    binlog_direct_non_transactional_updates,binlog_format,binlog_row_image,\
    binlog_row_value_options,binlog_rows_query_log_events,binlog_transaction_compression,\
    binlog_transaction_compression_level_zstd,block_encryption_mode,bulk_insert_buffer_size,\
    character_set_client,character_set_connection,character_set_database,\
    character_set_filesystem,character_set_results,character_set_server,collation_connection,\
    collation_database,collation_server,completion_type,connection_memory_chunk_size,\
    connection_memory_limit,cte_max_recursion_depth,debug,debug_sync,\
    default_collation_for_utf8mb4,default_storage_engine,default_table_encryption,\
    default_tmp_storage_engine,default_week_format,div_precision_increment,\
    enable_cascade_triggers,enable_secondary_engine_statistics,end_markers_in_json,\
    eq_range_index_dive_limit,explain_format,explain_json_format_version,\
    explicit_defaults_for_timestamp,external_table_secondary_storage_engine,\
    external_table_storage_engine,foreign_key_checks,generated_random_password_length,\
    global_connection_memory_tracking,group_concat_max_len,group_replication_consistency,\
    gtid_next,histogram_generation_max_mem_size,identity,immediate_server_version,\
    information_schema_stats_expiry,innodb_ddl_buffer_size,innodb_ddl_threads,\
    innodb_ft_enable_stopword,innodb_ft_user_stopword_table,innodb_lock_wait_timeout,\
    innodb_parallel_read_threads,innodb_strict_mode,innodb_support_xa,innodb_table_locks,\
    innodb_tmpdir,insert_id,interactive_timeout,internal_tmp_mem_storage_engine,\
    join_buffer_size,keep_files_on_create,last_insert_id,lc_messages,lc_time_names,\
    lock_wait_timeout,long_query_time,low_priority_updates,max_allowed_packet,\
    max_delayed_threads,max_error_count,max_execution_time,max_heap_table_size,\
    max_insert_delayed_threads,max_join_size,max_length_for_sort_data,max_points_in_geometry,\
    max_seeks_for_key,max_sort_length,max_sp_recursion_depth,max_tmp_tables,\
    max_user_connections,min_examined_row_limit,multi_range_count,myisam_sort_buffer_size,\
    myisam_stats_method,ndb_allow_copying_alter_table,ndb_autoincrement_prefetch_sz,\
    ndb_blob_read_batch_bytes,ndb_blob_write_batch_bytes,ndb_deferred_constraints,\
    ndb_force_send,ndb_fully_replicated,ndb_index_stat_enable,ndb_index_stat_option,\
    ndb_join_pushdown,ndb_log_bin,ndb_log_exclusive_reads,ndb_row_checksum,\
    ndb_table_no_logging,ndb_table_temporary,ndb_use_copying_alter_table,ndb_use_exact_count,\
    ndb_use_transactions,ndbinfo_max_bytes,ndbinfo_max_rows,ndbinfo_show_hidden,\
    ndbinfo_table_prefix,net_buffer_length,net_read_timeout,net_retry_count,\
    net_write_timeout,new,old,old_alter_table,old_passwords,optimizer_max_subgraph_pairs,\
    optimizer_prune_level,optimizer_search_depth,optimizer_switch,optimizer_trace,\
    optimizer_trace_features,optimizer_trace_limit,optimizer_trace_max_mem_size,\
    optimizer_trace_offset,original_commit_timestamp,original_server_version,\
    parser_max_mem_size,preload_buffer_size,print_identified_with_as_hex,profiling,\
    profiling_history_size,pseudo_replica_mode,pseudo_slave_mode,pseudo_thread_id,\
    query_alloc_block_size,query_cache_type,query_cache_wlock_invalidate,query_prealloc_size,\
    rand_seed1,rand_seed2,range_alloc_block_size,range_optimizer_max_mem_size,rbr_exec_mode,\
    read_buffer_size,read_rnd_buffer_size,require_row_format,restrict_fk_on_non_standard_key,\
    resultset_metadata,secondary_engine_cost_threshold,select_into_buffer_size,\
    select_into_disk_sync,select_into_disk_sync_delay,session_track_gtids,\
    session_track_schema,session_track_state_change,session_track_system_variables,\
    session_track_transaction_info,set_operations_buffer_size,\
    show_create_table_skip_secondary_engine,show_create_table_verbosity,\
    show_gipk_in_create_table_and_information_schema,show_old_temporals,sort_buffer_size,\
    sql_auto_is_null,sql_big_selects,sql_buffer_result,sql_generate_invisible_primary_key,\
    sql_log_bin,sql_log_off,sql_mode,sql_notes,sql_quote_show_create,\
    sql_require_primary_key,sql_safe_updates,sql_select_limit,sql_warnings,storage_engine,\
    terminology_use_previous,thread_pool_high_priority_connection,\
    thread_pool_prio_kickup_timer,time_zone,timestamp,tmp_table_size,\
    transaction_alloc_block_size,transaction_allow_batching,transaction_isolation,\
    transaction_prealloc_size,transaction_read_only,transaction_write_set_extraction,\
    tx_isolation,tx_read_only,unique_checks,updatable_views_with_limit,use_secondary_engine,\
    wait_timeout,windowing_use_high_precision,xa_detach_on_prepare";
